// The crash test with real processes: killed at random moments, again and
// again, while messages keep coming.

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/cadre-dev/cadre/internal/engine/enginetest"
	"github.com/cadre-dev/cadre/internal/store"
	"github.com/cadre-dev/cadre/internal/store/sqlite"
)

// TestKilledAgainAndAgain starts the command, which sends a message or
// resumes, and kills it with SIGKILL: after a random number of lines of output
// or a random time, whichever comes first. In the end every message that was
// acknowledged is there once, and all rules hold that an engine must keep.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	kills := kills
	if s := os.Getenv("CADRE_KILLS"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("CADRE_KILLS: %v", err)
		}
		kills = n
	}
	f := newFolder(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	acked := map[string]bool{}
	first := f.run(0, "run", "--json", "--model", script(t, "crash.yaml"), "go 0")
	chat := done(t, first.out).Chat
	for _, l := range decodeAll(t, first.out) {
		acknowledge(t, l, acked)
	}
	killed, inOpening := 0, 0
	for i := 1; killed < kills; i++ {
		if i > 6*kills {
			t.Fatalf("only %d of %d processes lived long enough to be killed", killed, i)
		}
		args := []string{"run", "--json", "--chat", chat, fmt.Sprintf("go %d", i)}
		if r.IntN(3) == 0 {
			args = []string{"run", "--json", "--resume", "--chat", chat}
		}
		p := f.start(args...)
		lines := killAtRandom(p, r)
		res := p.wait()
		if res.code > 0 {
			t.Fatalf("%v: exit code %d\n%s", args, res.code, res.errs)
		}
		if res.code < 0 {
			killed++
			if len(lines) == 0 {
				inOpening++
			}
		}
		for _, text := range lines {
			acknowledge(t, decode(t, text), acked)
		}
	}
	t.Logf("%d processes killed, %d of them before they said anything; %d messages acknowledged", killed, inOpening, len(acked))
	if len(acked) < kills/4 {
		t.Errorf("only %d messages were acknowledged: the test tests little", len(acked))
	}
	last := f.run(0, "run", "--json", "--chat", chat, "go at last")
	for _, l := range decodeAll(t, last.out) {
		acknowledge(t, l, acked)
	}
	f.run(0, "run", "--resume").wants(t, "Nothing is unfinished.")
	f.sound()
	checkStore(t, f, chat, acked)
}

// killAtRandom returns the lines that were read before the process died; one
// that was cut short is left out. Every fourth process is killed while it
// opens the folder and recovers, the others after their first line.
func killAtRandom(p *process, r *rand.Rand) []string {
	var read []string
	most, when := 1+r.IntN(150), time.Duration(r.IntN(300))*time.Millisecond
	timer := time.NewTimer(when)
	defer timer.Stop()
	if r.IntN(4) > 0 {
		text, ok := <-p.lines
		if !ok {
			return nil
		}
		read = append(read, text)
		timer.Reset(when)
	}
	for len(read) < most {
		select {
		case text, ok := <-p.lines:
			if !ok {
				return read
			}
			read = append(read, text)
			continue
		case <-timer.C:
		}
		break
	}
	p.signal(syscall.SIGKILL)
	for text := range p.lines {
		if json.Valid([]byte(text)) {
			read = append(read, text)
		}
	}
	return read
}

// acknowledge notes the user messages that a line tells to be committed.
func acknowledge(t *testing.T, l line, acked map[string]bool) {
	t.Helper()
	if l.Type != "user_message" {
		return
	}
	for _, d := range l.Docs {
		var m store.Message
		if d.Collection != "messages" {
			continue
		}
		if err := json.Unmarshal(d.Data, &m); err != nil {
			t.Fatal(err)
		}
		if m.Kind == "user" {
			acked[m.ID] = true
		}
	}
}

func checkStore(t *testing.T, f *folder, chat string, acked map[string]bool) {
	t.Helper()
	st, err := sqlite.OpenReadOnly(f.data)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	enginetest.Audit(t.Context(), st, chat, t.Errorf)
	messages, err := st.Messages(t.Context(), chat, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, m := range messages {
		seen[m.ID]++
		if m.Kind == "user" && m.Pos < 0 {
			t.Errorf("message %s still waits though the chat is at rest", m.ID)
		}
	}
	for id := range acked {
		if seen[id] != 1 {
			t.Errorf("message %s was acknowledged and is there %d times", id, seen[id])
		}
	}
}
