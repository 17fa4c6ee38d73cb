// Replies on their way, over HTTP: whoever joins, and whenever, has heard the
// whole reply when its message is committed.

package api_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// talks is an orchestrator that speaks slowly, is cut off once, and is spoken to
// meanwhile.
const talks = `
name: talks
defaults: {chunk: 4, chunk_delay: 3ms}
agents:
  - match: {role: main}
    turns:
      - {text: "This is the first reply, said in many small pieces.", calls: [{tool: LS, input: {path: .}}]}
      - {text: "The second one breaks off the first time, and is then said to the end.", fault: {cut: true, after: 20, times: 1}}
    after: last
`

// heard is what a client has of one reply.
type heard struct {
	try  int
	text string
}

// listener follows a chat and holds what it hears against what is committed.
type listener struct {
	replies map[string]*heard // by the id of the message
	whole   int               // replies whose every byte was heard before they were committed
	cut     int               // tries that were given up
}

// hear takes pieces: each begins where the one before it ended.
func (l *listener) hear(t *testing.T, d wire.Delta) {
	t.Helper()
	h := l.replies[d.Message]
	if h == nil || d.Try > h.try {
		if h != nil {
			l.cut++
		}
		h = &heard{try: d.Try}
		l.replies[d.Message] = h
	}
	if d.Kind != "text" {
		return
	}
	if d.Offset != len(h.text) || d.Try != h.try || d.Call != store.ModelCallID(d.Agent, d.Turn, d.Try) {
		t.Errorf("a piece of %s (%s, try %d) begins at %d, %d bytes were heard of try %d", d.Message, d.Call, d.Try, d.Offset, len(h.text), h.try)
	}
	h.text += d.Text
}

// commit takes a committed reply.
func (l *listener) commit(t *testing.T, m store.Message) {
	t.Helper()
	parts, err := message.DecodeParts(m.Parts)
	if err != nil {
		t.Fatal(err)
	}
	h := l.replies[m.ID]
	if h == nil {
		return // it was said before this one joined
	}
	// Its last piece may be void: the whole is committed by then.
	if want := message.Text(parts); !strings.HasPrefix(want, h.text) {
		t.Errorf("of %s was heard %q, it says %q", m.ID, h.text, want)
	}
	l.whole++
}

// run listens until the last reply.
func (l *listener) run(t *testing.T, f *follower) {
	t.Helper()
	for {
		name, _, data, ok := f.event(t)
		if !ok {
			t.Fatal("the feed has ended")
		}
		if name == "delta" {
			var d wire.Delta
			if err := json.Unmarshal([]byte(data), &d); err != nil {
				t.Fatal(err)
			}
			l.hear(t, d)
			continue
		}
		var c struct {
			Docs []struct {
				Collection string
				Data       json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatal(err)
		}
		for _, d := range c.Docs {
			var m store.Message
			if d.Collection != "messages" || json.Unmarshal(d.Data, &m) != nil || m.Kind != string(message.KindReply) {
				continue
			}
			l.commit(t, m)
			if strings.Contains(string(m.Parts), "to the end") {
				return
			}
		}
	}
}

func TestDeltas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script = filepath.Join(w.dir, "talks.yaml")
	w.ok(os.WriteFile(w.script, []byte(talks), 0o600))
	var snap wire.Snapshot
	w.want(http.StatusCreated, http.MethodPost, chats, wire.NewChat{Model: "scripted:" + w.script}).into(t, &snap)
	chat := chats + "/" + snap.Chat.ID
	first := w.follow(t, w.token, chat+"/changes?since=0")
	w.want(http.StatusCreated, http.MethodPost, chat+"/messages", wire.NewMessage{Text: "go"})
	// The second joins in the middle of the first reply, and what is said then
	// waits for its turn: it takes nobody's place.
	name := ""
	ears := &listener{replies: map[string]*heard{}}
	for name != "delta" {
		var data string
		if name, _, data, _ = first.event(t); name == "delta" {
			var d wire.Delta
			w.ok(json.Unmarshal([]byte(data), &d))
			ears.hear(t, d)
		}
	}
	second := w.follow(t, w.token, chat+"/changes")
	w.want(http.StatusCreated, http.MethodPost, chat+"/messages", wire.NewMessage{Text: "and this?"})
	late := &listener{replies: map[string]*heard{}}
	ears.run(t, first)
	late.run(t, second)
	if ears.whole != 2 || late.whole < 1 || ears.cut != 1 {
		t.Errorf("%d and %d whole replies were heard, %d tries were given up", ears.whole, late.whole, ears.cut)
	}
}
