// Package chat is what the processes of the benchmark say to each other: how
// a conversation is scripted by its first message, the few parts of OpenAI's
// Chat Completions format that are needed, and how a process reports what it
// used. It imports nothing but the standard library, so that the floor stays
// a floor.
package chat

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The kinds of conversation. The first message of each begins with its kind;
// a parent's history holds the messages of its children as well, so that the
// first of these that occurs tells whose request it is.
const (
	Root   = "bench-root"
	Middle = "bench-middle"
	Leaf   = "bench-leaf"
)

// Finished is in the last reply of a root.
const Finished = "bench-finished"

// Roles of sub-agents, as the benchmark's project defines them.
const (
	ReaderRole  = "reader"
	ManagerRole = "manager"
)

// Script is what the model does in a conversation. It is written into the
// first message, and the model server reads it there.
type Script struct {
	Kind   string
	ID     int
	Fan    int           // children that it starts in its first turn
	Below  int           // children that each of those starts
	Turns  int           // turns with a tool call before the last one
	Leaf   int           // such turns of each leaf
	Chunks int           // of each reply of a leaf: pieces of text that tell when they were sent
	Gap    time.Duration // between pieces
	Wait   time.Duration // before the first byte; negative: what the server was started with
	Spread time.Duration // each child waits this much longer than the one before it
	Second time.Duration // before the first byte of a leaf's second reply; 0: as of the others
	Role   string        // of its children
}

// String is the message that carries the script.
func (s Script) String() string {
	out := fmt.Sprintf("%s id=%d fan=%d below=%d turns=%d leaf=%d", s.Kind, s.ID, s.Fan, s.Below, s.Turns, s.Leaf)
	if s.Chunks > 0 {
		out += fmt.Sprintf(" chunks=%d gap=%s", s.Chunks, s.Gap)
	}
	if s.Wait >= 0 {
		out += fmt.Sprintf(" wait=%s", s.Wait)
	}
	if s.Spread > 0 {
		out += fmt.Sprintf(" spread=%s", s.Spread)
	}
	if s.Second > 0 {
		out += fmt.Sprintf(" second=%s", s.Second)
	}
	if s.Role != "" {
		out += " role=" + s.Role
	}
	return out + " ."
}

// ScriptOf finds the script in a request.
func ScriptOf(body []byte) (Script, error) {
	for _, kind := range []string{Root, Middle, Leaf} {
		_, rest, ok := bytes.Cut(body, []byte(kind+" "))
		if !ok {
			continue
		}
		if end := bytes.Index(rest, []byte(" .")); end >= 0 {
			rest = rest[:end]
		}
		return parse(kind, string(rest[:min(len(rest), 300)]))
	}
	return Script{}, fmt.Errorf("the request has no script")
}

func parse(kind, text string) (Script, error) {
	s := Script{Kind: kind, Wait: -1}
	for field := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(field, "=")
		var err error
		switch key {
		case "id":
			s.ID, err = strconv.Atoi(value)
		case "fan":
			s.Fan, err = strconv.Atoi(value)
		case "below":
			s.Below, err = strconv.Atoi(value)
		case "turns":
			s.Turns, err = strconv.Atoi(value)
		case "leaf":
			s.Leaf, err = strconv.Atoi(value)
		case "chunks":
			s.Chunks, err = strconv.Atoi(value)
		case "gap":
			s.Gap, err = time.ParseDuration(value)
		case "wait":
			s.Wait, err = time.ParseDuration(value)
		case "spread":
			s.Spread, err = time.ParseDuration(value)
		case "second":
			s.Second, err = time.ParseDuration(value)
		case "role":
			s.Role = value
		}
		if err != nil {
			return s, fmt.Errorf("reading %q of a script: %w", field, err)
		}
	}
	return s, nil
}

// Task is one of the sub-agents that a root asks for.
type Task struct {
	Task string `json:"task"`
	Role string `json:"role"`
}

// Tasks are the children that the script asks for.
func (s Script) Tasks() []Task {
	out := make([]Task, s.Fan)
	for i := range out {
		child := Script{Kind: Leaf, ID: s.ID*1000 + i, Turns: s.Leaf, Chunks: s.Chunks, Gap: s.Gap, Wait: s.Wait + time.Duration(i)*s.Spread, Second: s.Second}
		role := ReaderRole
		if s.Below > 0 {
			child = Script{Kind: Middle, ID: i + 1, Fan: s.Below, Leaf: s.Leaf, Wait: s.Wait, Role: s.Role}
			role = ManagerRole
		} else if s.Role != "" {
			role = s.Role
		}
		out[i] = Task{Task: child.String(), Role: role}
	}
	return out
}

// ReadInput is the input of the tool call of a turn. It differs from turn to
// turn, as no agent repeats itself for ever.
func ReadInput(turn int) string { return fmt.Sprintf(`{"path":"note.txt","limit":%d}`, turn+1) }

// SystemPrompt is what the floor and the peers tell their agents, and ReadNote
// the one tool they have.
const (
	SystemPrompt = "You read files and report. Be brief."
	ReadName     = "Read"
	ReadAbout    = "Read a file."
	SpawnName    = "spawn_agents"
	SpawnAbout   = "Start sub-agents that work in parallel, each on its own task, and get their results."
)

// The requests of Chat Completions, as far as the floor needs them.
type (
	Message struct {
		Role       string     `json:"role"`
		Content    string     `json:"content"`
		ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
		ToolCallID string     `json:"tool_call_id,omitempty"`
	}
	ToolCall struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function Function `json:"function"`
	}
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	Tool struct {
		Type     string     `json:"type"`
		Function Definition `json:"function"`
	}
	Definition struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Parameters  any    `json:"parameters"`
	}
	Request struct {
		Model    string    `json:"model"`
		Stream   bool      `json:"stream,omitempty"`
		Messages []Message `json:"messages"`
		Tools    []Tool    `json:"tools,omitempty"`
	}
)

// Report is what a process under test prints as its last line.
type Report struct {
	SpanMS float64 `json:"spanMs"`
	CPU    float64 `json:"cpu"` // seconds, user and system, of the whole process
	Memory Memory  `json:"memory"`
}

// Print writes the report of this process about work that took span.
func Print(span time.Duration) error {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return fmt.Errorf("reading what was used: %w", err)
	}
	memory, err := MemoryOf(os.Getpid())
	if err != nil {
		return err
	}
	cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return json.NewEncoder(os.Stdout).Encode(Report{SpanMS: Millis(span), CPU: cpu.Seconds(), Memory: memory})
}

// Millis is a duration in milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Memory is what a process has resident.
type Memory struct {
	PeakKB int64 // the most so far
	NowKB  int64
	FileKB int64 // of NowKB, pages of files: those of its own program, above all
}

// MemoryOf reads the memory of a process. The kernel's maxrss would not do: it
// begins with that of the process which started it.
func MemoryOf(pid int) (m Memory, err error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m, fmt.Errorf("reading the memory of a process: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	fields := map[string]*int64{"VmHWM": &m.PeakKB, "VmRSS": &m.NowKB, "RssFile": &m.FileKB}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		to := fields[name]
		if to == nil {
			continue
		}
		if *to, err = strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64); err != nil {
			return m, fmt.Errorf("reading the memory of a process: %w", err)
		}
	}
	return m, nil
}

// Call is what the model server noted of a request. Times are in Unix
// nanoseconds.
type Call struct {
	Kind  string `json:"kind"`
	ID    int    `json:"id"`
	Turn  int    `json:"turn"` // from 0
	Bytes int    `json:"bytes"`
	Came  int64  `json:"came"`
	Done  int64  `json:"done"` // 0: it was not answered
}
