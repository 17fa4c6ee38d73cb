// A stdio server as a process: how it is started, what passes through its
// pipes, and how nothing of it is left behind.

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cadre-dev/cadre/internal/sandbox"
)

// maxMessage bounds one message of a server, in bytes. A session in which a
// longer one comes is broken, as nothing can be skipped safely.
const maxMessage = 16 << 20

var errTooLong = fmt.Errorf("it sent a message of more than %d MB", maxMessage>>20)

// inherited are the variables that a server gets from ours if Options.Env does
// not say otherwise. Keys of ours are not among them.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"APPDATA", "LOCALAPPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "PATHEXT", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
}

func inheritedEnv() []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// process is a stdio server at work.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	closer io.Closer // of stdout
	cancel context.CancelFunc
	temp   string // its own, if it is in a sandbox
}

// startProcess starts the server; noise takes what it writes to standard error
// and what it writes to standard output that is no message.
func (s *server) startProcess(noise io.Writer) (_ *process, err error) {
	// It must not end with the context of the session: it gets time to end by
	// itself first.
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{cancel: cancel}
	defer func() {
		if err != nil {
			p.cleanUp()
		}
	}()
	if p.cmd, err = s.command(ctx, p); err != nil {
		return nil, err
	}
	p.cmd.Stderr = noise
	if p.cmd.WaitDelay == 0 {
		p.cmd.WaitDelay = s.client.timing.grace
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("making its standard input: %w", err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("making its standard output: %w", err)
	}
	p.stdout, p.closer = newMessages(stdout, noise), stdout
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", filepath.Base(s.config.Command), err)
	}
	return p, nil
}

func (s *server) command(ctx context.Context, p *process) (*exec.Cmd, error) {
	o, c := s.client.options, s.config
	dir := c.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(o.Dir, dir)
	}
	argv := append([]string{c.Command}, c.Args...)
	if o.Sandbox == nil || c.Sandbox.Off {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, s.environment()
		ownGroup(cmd)
		return cmd, nil
	}
	if o.TempRoot != "" { // nobody may have needed it yet
		if err := os.MkdirAll(o.TempRoot, 0o700); err != nil {
			return nil, fmt.Errorf("making its temp folder: %w", err)
		}
	}
	var err error
	if p.temp, err = os.MkdirTemp(o.TempRoot, "mcp-"+s.id+"-"); err != nil {
		return nil, fmt.Errorf("making its temp folder: %w", err)
	}
	policy := sandbox.Policy{
		Dir: dir, Write: true, Network: c.Sandbox.Network, Temp: p.temp,
		Hide: o.Hide, Extra: c.Sandbox.Write, Limits: o.Limits,
	}
	if o.Cache != "" {
		// For launchers such as npx, so that they need not download again.
		// Each server has its own: with a shared one it could change what
		// others run.
		policy.Cache = filepath.Join(o.Cache, s.key()+".d")
		if err := os.MkdirAll(policy.Cache, 0o700); err != nil {
			return nil, fmt.Errorf("making its cache folder: %w", err)
		}
	}
	cmd, err := o.Sandbox.Command(ctx, policy, argv, s.environment())
	if err != nil {
		return nil, fmt.Errorf("preparing its sandbox: %w", err)
	}
	return cmd, nil
}

// environment is what the server gets: the base, then what is configured.
func (s *server) environment() []string {
	all := map[string]string{}
	base := s.client.options.Env
	if base == nil {
		base = inheritedEnv()
	}
	for _, pair := range base {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	for name, value := range s.config.Env {
		all[name] = value.Reveal()
	}
	var env []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		env = append(env, name+"="+all[name])
	}
	return env
}

func (p *process) transport() sdk.Transport {
	return &sdk.IOTransport{
		Reader: struct {
			io.Reader
			io.Closer
		}{p.stdout, p.closer},
		Writer:        p.stdin,
		MaxLineLength: -1, // newMessages bounds it
	}
}

// stop ends the process and all that it started. It gets some time to end by
// itself; if it does, how says with what status.
func (p *process) stop(grace time.Duration) (how string) {
	_ = p.stdin.Close() // by this a server is asked to end
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-ended:
		how = exitText(err)
		p.kill() // what it left behind
	case <-timer.C:
		p.kill()
		<-ended
	}
	p.cleanUp()
	return how
}

// kill ends the process and its group at once. After the end of the process
// it reaches what is left of the group, whose number is not given anew while
// there is anything left.
func (p *process) kill() {
	if p.cmd.Cancel != nil {
		_ = p.cmd.Cancel()
	}
	p.cancel()
}

func (p *process) cleanUp() {
	p.cancel()
	if p.temp != "" {
		_ = os.RemoveAll(p.temp)
	}
}

func exitText(err error) string {
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.Error()
	case err == nil:
		return "exit status 0"
	}
	return ""
}

// messages passes on the lines that are messages. Many servers, and what
// starts them, print other things to standard output too; those lines go to
// noise, and break nothing.
type messages struct {
	lines *bufio.Scanner
	noise io.Writer
	rest  []byte
}

func newMessages(r io.Reader, noise io.Writer) *messages {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxMessage)
	return &messages{lines: lines, noise: noise}
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		if !m.lines.Scan() {
			switch err := m.lines.Err(); {
			case errors.Is(err, bufio.ErrTooLong):
				return 0, errTooLong
			case err != nil:
				return 0, err
			}
			return 0, io.EOF
		}
		line := slices.Concat(bytes.TrimSpace(m.lines.Bytes()), []byte("\n"))
		if isMessage(line) {
			m.rest = line
		} else {
			_, _ = m.noise.Write(line)
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// isMessage tells whether a line is a JSON-RPC message, or a batch of them.
func isMessage(line []byte) bool {
	type message struct {
		Version string `json:"jsonrpc"`
	}
	var one message
	var batch []message
	switch line[0] {
	case '{':
		return json.Unmarshal(line, &one) == nil && one.Version == "2.0"
	case '[':
		return json.Unmarshal(line, &batch) == nil && len(batch) > 0 && batch[0].Version == "2.0"
	}
	return false
}
