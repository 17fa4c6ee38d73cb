// How far the collector has been told: a number in a file of the data folder.

package tracing

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// cursor is the number of the last change whose spans were sent.
type cursor struct {
	name string
	seq  int64
}

// open reads the number. Without one, or with one that cannot be read or has
// not been given yet (of another database), it is the newest change: a collector
// is not told the whole past.
func (c *cursor) open(ctx context.Context, s Source) error {
	text, err := os.ReadFile(c.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading how far traces were sent: %w", err)
	}
	newest, err := s.LastSeq(ctx)
	if err != nil {
		return err
	}
	seq, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err == nil && seq >= 0 && seq <= newest {
		c.seq = seq
		return nil
	}
	return c.move(newest)
}

// restart forgets the number.
func (c *cursor) restart(ctx context.Context, s Source) error {
	newest, err := s.LastSeq(ctx)
	if err != nil {
		return err
	}
	return c.move(newest)
}

// move notes a number. A file that a crash has cut off is one that cannot be
// read.
func (c *cursor) move(to int64) error {
	if to == c.seq && to > 0 {
		return nil
	}
	fresh := c.name + ".new"
	if err := os.WriteFile(fresh, []byte(strconv.FormatInt(to, 10)+"\n"), 0o600); err != nil {
		return fmt.Errorf("noting how far traces were sent: %w", err)
	}
	if err := os.Rename(fresh, c.name); err != nil {
		return fmt.Errorf("noting how far traces were sent: %w", err)
	}
	c.seq = to
	return nil
}
