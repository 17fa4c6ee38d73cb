// The report: docs/benchmarks.md, one part for each bar. A run of one bar
// replaces its part and leaves the others.

package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const reportFile = "docs/benchmarks.md"

// intro explains what the numbers mean. Everything else is measured.
const intro = `# Benchmarks

Written by ` + "`make bench`" + `; one bar alone is measured anew with ` + "`cd bench && go run . -bar N`" + `.

Everything runs on one machine: a model server on the loopback interface, which answers after 50 ms unless a bar says otherwise, the contenders, and the driver. Each is a process of its own. Cadre is the real binary with ` + "`cadre serve`" + `, used over HTTP, with a subscriber that follows the feed: every event is committed with fsync (WAL, synchronous=FULL) before it has effects, everything is recorded, replies are streamed. The floor is the same requests from plain net/http, without an agent system; it records nothing and looks at no reply. The peers record nothing either. They are used as their users have them: agents and runners of their own (eino's package adk, adk-go's llmagent with sessions in memory), each with its own client (eino's for OpenAI, adk-go's for Gemini, which the model server speaks for it), streaming as Cadre does. Both keep as many connections as they need and share one agent between all sub-agents; nobody follows what they say. All sub-agents have one tool, a one-line prompt, and make three tool calls before they answer.

Contenders take turns; a ratio is the median of the ratios of all rounds. CPU is user and system time: of the whole process for the floor and the peers, from the creation of the chat on for Cadre. Peak memory is what the kernel calls VmHWM. It counts the pages of a program's own file that are in memory, which the system can drop and shares between processes; where these matter they are told apart.

A witness watches the machine: every 5 ms it does the same small piece of work and notes how much CPU time that took. CPU time does not grow when somebody else uses the cores; it grows when whoever lends the cores slows them. What was measured while they ran at less than 85 % of their fastest speed is measured again, up to three times in all (bars 1, 3 and 4), and what was found when they were fastest counts, whatever it was.

## What limits the bars that are missed

Profiles of November 2026 (` + "`-profile`" + `), on two virtual cores that the model server and the driver share:

- The machine: its cores are often lent at half their speed for minutes, and about every 1.5 s at a tenth or less for 50 to 100 ms, both at once, also when nothing else runs on it (the witness alone sees it; the kernel counts next to no steal meanwhile). Seconds of one run cannot be compared with those of another without the speed of the cores beside them; CPU at N=1000 is 1.0 s on fast ones and up to 1.7 s on slow ones.
- First token (bar 4): the p99 is that of the pieces that come while the cores are held, or just after, when everything that has piled up is delivered: twenty deliveries for each piece. The others are told apart in the table.
- Spans of bar 1 at N=64 and N=1000: both cores are busy in each burst of replies (perf, samples of 1 ms: none idle but while children are spawned and joined), and nothing waits for the disk. The table below says where Cadre's CPU goes. There is no single large part left. A spawn is one transaction: for 1,000 children it takes 80 ms of one core, planning included, in which nothing else can go on; for 64 5 ms. The floor does nothing between two requests. For 1.25 × at N=1000 Cadre would have to do with about half a second of CPU: a span of 584 ms has 150 ms in which nothing can be done but wait for the model, which leaves 0.87 s on two cores, of which the model server and the driver need a third; the floor takes 0.30 s, and rows and commits alone 0.2 s. Large pages for the heap (transparent_hugepage=always) take 5 to 14 % off the span at N=1000, for 5 to 10 MB; they are the machine's to set, as they make others stall.
- At N=4 a stage is two commits one after the other: the reply that comes first, then the others. On this machine ten pages and their fsync take 0.16 ms right after another commit and 0.3 to 0.5 ms after 50 ms of rest, which is when replies come. The trace of a stage, in ms from the arrival of four replies: 0.4 the first has been read and its file with it, 0.45 it is stepped, 0.64 its rows are in the log, 0.95 they are on the disk, 1.1 the other three are stepped, 1.5 they are on the disk, 1.6 to 1.9 the last requests are written. adk-go keeps nothing and has none of that. Without any fsync (a build made for this) the span is 316 ms instead of 318, and adk-go's 314; the third chat of a server takes 1 to 3 ms less than its first.
- A turn (bar 3) holds one commit of about ten pages, 0.3 to 0.4 ms with the rows; the rest are the two requests, the tool and the stepping.
- Memory: a server has touched nearly all of its program when it is ready (480 of 550 pieces of 64 KB, which the kernel maps around a page that is touched; by initialising packages and by walking stacks), and this kernel maps pages of 2 MB as a whole, so that 32 to 37 MB of it count before any agent works, and about 55 MB in all. A server that has been at rest has given most of it back. An idle server has about 12 MB of its own. At N=1000 there is 105 MB before any garbage: 33 of the program's file, 33 of heap in use (28 KB an agent), 15 to 22 of stacks, 9 of the runtime's own, 10 of SQLite; the rest of the peak is room for garbage, which is collected once to three times in the run. Collecting it more often would not do: with GOGC=10 (which counts from the 16 MB of room on) the peak at N=1000 is 105 MB, and the CPU 2.1 times as much; at N=64 58 MB, and 2.2 times. The heap is allowed 16 MB before garbage is collected at all, which saves a fifth of the CPU at N=64.

Where the CPU of a server goes at N=1000, by perf's samples of its stacks (cpu-clock, 4 kHz), each counted once; what collects garbage counts as that wherever it is:

| % | part |
|---|---|
| 19 | HTTP to the model: the floor has it, too |
| 19 | SQLite: rows and commits |
| 12 | collecting garbage |
| 11 | stepping, documents, starting effects |
| 9 | the tool: policy, the folder opened safely, the file |
| 8 | the feed and the subscriber's stream |
| 7 | reading streamed replies, encoding requests |
| 4 | what else belongs to a model call: prices, places, limits |
| 3 | proposals: validating inputs, plans of children |
| 7 | scheduling, timers, reading from SQLite and the rest |

15 % of all are in the allocator, 18 % in the kernel.
`

// part is the heading of the part of a bar.
func part(bar int) string { return fmt.Sprintf("## Bar %d: ", bar) }

// write puts the part of a bar into the report.
func (b *bench) write(bar int, title string, s *section, about string) error {
	name := filepath.Join(b.root, reportFile)
	old, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("reading the report: %w", err)
	}
	var text bytes.Buffer
	text.WriteString(intro + "\n")
	for i := range bars {
		if i+1 == bar {
			fmt.Fprintf(&text, "%s%s\n\n%s\n\n", part(bar), title, about)
			s.print(&text)
			continue
		}
		text.WriteString(kept(string(old), i+1))
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	if err := os.WriteFile(name, append(bytes.TrimRight(text.Bytes(), "\n"), '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// kept is the part of a bar in an older report.
func kept(report string, bar int) string {
	start := strings.Index(report, part(bar))
	if start < 0 {
		return ""
	}
	text := report[start:]
	if end := strings.Index(text[1:], "\n## Bar "); end >= 0 {
		text = text[:end+1]
	}
	return strings.TrimRight(text, "\n") + "\n\n"
}

// about says when and where a bar was measured.
func (b *bench) about(ctx context.Context, began time.Time) string {
	line := func(name, prefix string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			return "unknown"
		}
		for l := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(l, prefix); ok {
				return strings.TrimSpace(strings.TrimLeft(rest, " \t:"))
			}
		}
		return "unknown"
	}
	out := func(name string, args ...string) string {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = b.root
		text, err := cmd.Output()
		if err != nil {
			return "unknown"
		}
		return strings.TrimSpace(string(text))
	}
	return fmt.Sprintf("%s UTC; %d × %s, %s memory, Linux %s; %s; Cadre %s; %s. Load average at the start of the run %s, now %s (what is measured is part of it). Meanwhile the cores ran at %s of the fastest speed they were seen to have.",
		began.UTC().Format("2006-01-02 15:04"), runtime.NumCPU(), line("/proc/cpuinfo", "model name"), line("/proc/meminfo", "MemTotal"),
		line("/proc/sys/kernel/osrelease", ""), runtime.Version(), out("git", "describe", "--always", "--dirty"), b.peers(), b.load, loadAverage(), percent(b.witness.speed(began)))
}

// peers are the versions of what Cadre is measured beside, as they were built.
func (b *bench) peers() string {
	var out []string
	for _, p := range []struct{ binary, module, name string }{
		{"eino", "github.com/cloudwego/eino", "eino"}, {"adk", "google.golang.org/adk", "adk-go"},
	} {
		info, err := buildinfo.ReadFile(b.path(p.binary))
		if err != nil {
			continue
		}
		for _, d := range info.Deps {
			if d.Path == p.module {
				out = append(out, p.name+" "+d.Version)
			}
		}
	}
	return strings.Join(out, ", ")
}

// loadAverage of the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
