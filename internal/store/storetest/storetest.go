// Package storetest is the suite that every database behind store.Store
// passes. It knows the interface and nothing of how it is kept.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/store"
)

// Open opens the store kept in dir, a folder of the test's own. Opening the
// same folder again, once the store is closed, must give everything back.
type Open func(t *testing.T, dir string) store.Store

// Run holds a store to the contract of store.Store.
func Run(t *testing.T, open func(t *testing.T, dir string) store.Store) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*suite)
	}{
		{"Users", testUsers},
		{"Prompts", testPrompts},
		{"Chats", testChats},
		{"ChatList", testChatList},
		{"Agents", testAgents},
		{"Heads", testHeads},
		{"Trees", testTrees},
		{"Tasks", testTasks},
		{"Messages", testMessages},
		{"MessagePages", testMessagePages},
		{"ToolCalls", testToolCalls},
		{"ModelCalls", testModelCalls},
		{"Inbox", testInbox},
		{"Artifacts", testArtifacts},
		{"Adopt", testAdopt},
		{"Records", testRecords},
		{"Details", testDetails},
		{"NotFound", testNotFound},

		{"Numbers", testNumbers},
		{"Atomic", testAtomic},
		{"DuplicatesFailAlone", testDuplicatesFailAlone},
		{"RolledBackIsForgotten", testRolledBackIsForgotten},
		{"CancelledContext", testCancelledContext},
		{"ClosedStore", testClosedStore},
		{"ReadersDuringWrites", testReadersDuringWrites},
		{"Reopen", testReopen},
		{"Delete", testDelete},
		{"DeleteThenReopen", testDeleteThenReopen},

		{"LoadWithoutSnapshot", testLoadWithoutSnapshot},
		{"LoadWithSnapshot", testLoadWithSnapshot},
		{"Log", testLog},
		{"Unfinished", testUnfinished},

		{"ChangesPaging", testChangesPaging},
		{"ChangesDocuments", testChangesDocuments},
		{"ChangesFilters", testChangesFilters},
		{"ChangesOfDeleted", testChangesOfDeleted},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := &suite{T: t, open: open, dir: t.TempDir()}
			s.Store = open(t, s.dir)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("closing the store: %v", err)
				}
			})
			test.run(s)
			if !t.Failed() && !s.closed {
				s.sound()
			}
		})
	}
}

// suite is one test with a store of its own.
type suite struct {
	*testing.T
	store.Store
	open   Open
	dir    string
	closed bool  // the test has closed the store for good
	clock  int64 // grows with each entry, so that no two times are equal
}

const user = "user-anna"

// at returns a new time.
func (s *suite) at() int64 {
	s.clock++
	return 1_700_000_000_000 + s.clock
}

func (s *suite) ctx() context.Context { return s.Context() }

// sound fails the test if the store finds damage in itself.
func (s *suite) sound() {
	s.Helper()
	found, err := s.Check(s.ctx())
	s.ok(err)
	if len(found) > 0 {
		s.Errorf("the store finds itself damaged: %q", found)
	}
}

func (s *suite) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// fails wants an error that is target.
func (s *suite) fails(err, target error, doing string) {
	s.Helper()
	if !errors.Is(err, target) {
		s.Errorf("%s: got error %v, want one that is %q", doing, err, target)
	}
}

func (s *suite) reopen() {
	s.Helper()
	s.ok(s.Close())
	s.Store = s.open(s.T, s.dir)
}

func (s *suite) commit(entries ...*store.Entry) {
	s.Helper()
	s.ok(s.Commit(s.ctx(), &store.Batch{Entries: entries}))
}

// entry makes one with a body of its own.
func (s *suite) entry(chat, agent, kind string, docs ...store.Doc) *store.Entry {
	at := s.at()
	return &store.Entry{
		Chat: chat, Agent: agent, At: at, Type: kind, Version: 3,
		Body: fmt.Appendf(nil, `{"body":%d,"of":%q}`, at, agent), Docs: docs,
	}
}

// startChat commits a chat with its orchestrator, and returns both.
func (s *suite) startChat(id string) (store.Chat, store.Agent) {
	s.Helper()
	return s.startChatOf(user, id)
}

func (s *suite) startChatOf(owner, id string) (store.Chat, store.Agent) {
	s.Helper()
	var c store.Chat
	fill(&c, id)
	c.ID, c.UserID, c.Archived, c.UpdatedAt = id, owner, false, s.at()
	a := s.newAgent(c, "", id)
	s.commit(s.entry(id, id, "Created", store.NewChat{Chat: c}, store.NewAgent{Agent: a}))
	return c, a
}

// newAgent makes an agent at rest with every field set.
func (s *suite) newAgent(c store.Chat, parent, id string) store.Agent {
	var a store.Agent
	fill(&a, id)
	a.ID, a.ChatID, a.UserID, a.Parent = id, c.ID, c.UserID, parent
	a.Depth = depth(id)
	a.Busy, a.WakeAt, a.EndedAt = false, 0, 0
	if parent == "" {
		a.TaskID, a.Cause = "", ""
	}
	return a
}

// startAgent commits a sub-agent.
func (s *suite) startAgent(c store.Chat, parent, id string) store.Agent {
	s.Helper()
	a := s.newAgent(c, parent, id)
	s.commit(s.entry(c.ID, id, "Created", store.NewAgent{Agent: a}))
	return a
}

func depth(id string) int {
	n := 0
	for _, r := range id {
		if r == '.' {
			n++
		}
	}
	return n
}

// text is a message whose content is nowhere else.
func (s *suite) text(agent string, pos int, kind message.Kind, text string) store.Message {
	s.Helper()
	role := message.User
	if kind == message.KindReply {
		role = message.Assistant
	}
	m, err := store.EncodeMessage(agent, pos, message.Of(role, kind, text))
	s.ok(err)
	m.CreatedAt = s.at()
	return m
}

// equal compares what was read with what was written, and names each place
// where they differ.
func (s *suite) equal(got, want any, what string) {
	s.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	s.Errorf("%s differs:\n%s", what, strings.Join(differences(reflect.ValueOf(got), reflect.ValueOf(want), ""), "\n"))
}

func differences(got, want reflect.Value, at string) []string {
	if got.IsValid() && want.IsValid() && got.Type() == want.Type() {
		switch {
		case reflect.DeepEqual(got.Interface(), want.Interface()):
			return nil
		case got.Kind() == reflect.Interface && !got.IsNil() && !want.IsNil():
			return differences(got.Elem(), want.Elem(), at)
		case got.Kind() == reflect.Struct:
			var all []string
			for i := range got.NumField() {
				all = append(all, differences(got.Field(i), want.Field(i), at+"."+got.Type().Field(i).Name)...)
			}
			return all
		case got.Kind() == reflect.Slice && got.Type().Elem().Kind() == reflect.Struct && got.Len() == want.Len():
			var all []string
			for i := range got.Len() {
				all = append(all, differences(got.Index(i), want.Index(i), fmt.Sprintf("%s[%d]", at, i))...)
			}
			return all
		}
	}
	return []string{fmt.Sprintf("  %s: got %s, want %s", at, show(got), show(want))}
}

func show(v reflect.Value) string {
	if !v.IsValid() {
		return "nothing"
	}
	if b, ok := v.Interface().([]byte); ok {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("%+v", v.Interface())
}

// fill sets every field of the struct that p points to to a value of its own,
// so that a field that is not kept, or kept in another's place, shows. A field
// that is added to a document is tested without anyone's doing.
func fill(p any, seed string) {
	n := 100
	fillValue(reflect.ValueOf(p).Elem(), seed, "", &n)
}

func fillValue(v reflect.Value, seed, name string, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillValue(v.Field(i), seed, name+"/"+v.Type().Field(i).Name, n)
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("%s of %s, %d – «ü»", name, seed, *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice: // json.RawMessage or bytes
		v.SetBytes(fmt.Appendf(nil, `{"%s":%d}`, name, *n))
	default:
		panic(fmt.Sprintf("storetest: a document has a field of kind %s: teach fill about it", v.Kind()))
	}
}
