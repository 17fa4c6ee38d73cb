// ripgrep as a filter: which files contain none of the keywords.

package search

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"
)

const (
	batchBytes = 96 << 10 // of file names in one command line
	rgWait     = 2 * time.Second
)

// filter says which files may contain a keyword. It may be wrong in one
// direction only: what it leaves out contains none. Its answer is nil, which
// stands for all, if ripgrep cannot say.
//
// The files are named one by one, so that the rules of package files alone
// decide which are searched, and read again by it, so that a link that was put
// in the way meanwhile leads nowhere.
func (s *searcher) filter(ctx context.Context, dir string, keywords, names []string) map[string]bool {
	if s.rg == "" {
		return nil
	}
	may := map[string]bool{}
	for len(names) > 0 {
		n, size := 0, 0
		for n < len(names) && size < batchBytes {
			size += len(names[n]) + 3
			n++
		}
		if err := s.grep(ctx, dir, keywords, names[:n], may); err != nil {
			return nil
		}
		names = names[n:]
	}
	return may
}

// grep adds those of names that contain a keyword.
func (s *searcher) grep(ctx context.Context, dir string, keywords, names []string, may map[string]bool) error {
	args := []string{
		"--no-config", "--files-with-matches", "--null", "--color=never", "--no-messages",
		"--fixed-strings", "--ignore-case", "--text", "--encoding=none", "--no-ignore",
	}
	for _, k := range keywords {
		args = append(args, "--regexp="+k)
	}
	args = append(args, "--")
	for _, name := range names {
		args = append(args, "./"+name)
	}
	cmd := exec.CommandContext(ctx, s.rg, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, []string{}, rgWait
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil // no match
	}
	if err != nil {
		return err // also if one file could not be read: then all are looked at
	}
	for name := range strings.SplitSeq(out.String(), "\x00") {
		may[strings.TrimPrefix(name, "./")] = true
	}
	return nil
}
