// This file tests users, keys, settings, read marks and the audit log.

package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/cadre-dev/cadre/internal/store"
)

func testAccessUsers(s *suite, a Served) {
	none, err := a.Users(s.ctx())
	s.ok(err)
	if len(none) > 0 {
		s.Errorf("a new store has the users %+v", none)
	}
	anna, bert := store.User{ID: "anna", Name: "Anna «ü»", CreatedAt: 1}, store.User{ID: "bert", Name: "Bert", CreatedAt: 2}
	s.ok(a.AddUser(s.ctx(), anna))
	s.ok(a.AddUser(s.ctx(), bert))
	s.fails(a.AddUser(s.ctx(), store.User{ID: "anna", Name: "another"}), store.ErrDuplicate, "adding a user twice")
	all, err := a.Users(s.ctx())
	s.ok(err)
	s.equal(all, []store.User{anna, bert}, "the users")

	s.ok(a.AddKey(s.ctx(), store.Key{ID: "k1", UserID: "bert", Kind: store.KeyToken, Hash: "h1"}))
	s.fails(a.RemoveUser(s.ctx(), "carl", 5), store.ErrNotFound, "removing nobody")
	s.ok(a.RemoveUser(s.ctx(), "bert", 5))
	s.fails(a.RemoveUser(s.ctx(), "bert", 6), store.ErrNotFound, "removing a user twice")
	s.fails(second(a.KeyByHash(s.ctx(), "h1")), store.ErrNotFound, "the key of a removed user")
	keys, err := a.Keys(s.ctx(), store.KeyQuery{User: "bert"})
	s.ok(err)
	if len(keys) != 1 || keys[0].RevokedAt != 5 {
		s.Errorf("the keys of a removed user are %+v", keys)
	}
	s.fails(a.AddUser(s.ctx(), bert), store.ErrDuplicate, "giving the id of a removed user again")
	all, err = a.Users(s.ctx())
	s.ok(err)
	s.equal(all, []store.User{anna}, "the users that are left")
}

func testAccessKeys(s *suite, a Served) {
	s.ok(a.AddUser(s.ctx(), store.User{ID: "anna", Name: "Anna"}))
	var want []store.Key
	for n, kind := range []store.KeyKind{store.KeyToken, store.KeySession, store.KeySession, store.KeySession, store.KeyToken} {
		var k store.Key
		fill(&k, fmt.Sprint("key ", n))
		k.ID, k.UserID, k.Kind, k.RevokedAt, k.ExpiresAt = fmt.Sprint("k", n), "anna", kind, 0, 0
		want = append(want, k)
	}
	want[1].ExpiresAt, want[3].ExpiresAt, want[4].UserID = 100, 1000, "bert"
	for _, k := range want {
		s.ok(a.AddKey(s.ctx(), k))
		got, err := a.KeyByHash(s.ctx(), k.Hash)
		s.ok(err)
		s.equal(*got, k, "a key")
	}
	if a.AddKey(s.ctx(), want[0]) == nil {
		s.Error("a key was added twice")
	}
	s.fails(second(a.KeyByHash(s.ctx(), "none")), store.ErrNotFound, "an unknown hash")
	lists := func(q store.KeyQuery, want ...store.Key) {
		s.Helper()
		got, err := a.Keys(s.ctx(), q)
		s.ok(err)
		s.equal(got, want, fmt.Sprintf("the keys of %+v", q))
	}
	lists(store.KeyQuery{}, want...)
	lists(store.KeyQuery{User: "anna"}, want[:4]...)
	lists(store.KeyQuery{Kind: store.KeyToken}, want[0], want[4])
	lists(store.KeyQuery{User: "bert", Kind: store.KeySession})

	// A use is the newest one, a revocation the first.
	s.ok(a.UseKey(s.ctx(), "k0", 900))
	s.ok(a.UseKey(s.ctx(), "k0", 800))
	s.ok(a.RevokeKey(s.ctx(), "k0", 50))
	s.ok(a.RevokeKey(s.ctx(), "k0", 60))
	s.fails(a.RevokeKey(s.ctx(), "none", 1), store.ErrNotFound, "revoking no key")
	s.fails(a.UseKey(s.ctx(), "none", 1), store.ErrNotFound, "using no key")
	want[0].UsedAt, want[0].RevokedAt = 900, 50
	s.ok(a.RevokeKey(s.ctx(), "k2", 60))
	s.ok(a.ForgetKeys(s.ctx(), 500))
	lists(store.KeyQuery{}, want[0], want[3], want[4]) // tokens stay, though revoked
}

func testAccessSettings(s *suite, a Served) {
	settings := func(user string, want json.RawMessage) {
		s.Helper()
		got, err := a.Settings(s.ctx(), user)
		s.ok(err)
		s.equal(got, want, "the settings of "+user)
	}
	settings("anna", nil)
	set := func(user, body string) { s.commit(s.putSettings(user, body)) }
	set("anna", `{"theme":"dark"}`)
	set("bert", `{}`)
	set("anna", `{"theme":"«ü»"}`)
	settings("anna", json.RawMessage(`{"theme":"«ü»"}`))
	settings("bert", json.RawMessage(`{}`))

	set("D, ü&D1", `{"a":1}`) // names that look like codes
	for user, want := range map[string][]int64{"anna": {1, 3}, "bert": {2}, "D, ü&D1": {4}, "nobody": nil} {
		list, _ := s.changes(0, 0, store.Filter{User: user})
		var seqs []int64
		for _, c := range list {
			seqs = append(seqs, c.Seq)
		}
		s.equal(seqs, want, "the changes of the settings of "+user)
	}
	list, _ := s.changes(2, 0, store.Filter{User: "anna"})
	s.equal(list[0].Docs, []store.Document{{Collection: "settings", ID: "anna", Data: json.RawMessage(`{"theme":"«ü»"}`)}}, "the settings in a change")
	s.equal(list[0].Chat, "", "the chat of settings")
	s.startChat("c1")
	list, _ = s.changes(0, 0, store.Filter{Chat: "c1"})
	s.equal(len(list), 1, "the changes of a chat, where settings are none")
}

func (s *suite) putSettings(user, body string) *store.Entry {
	return s.entry("", "", "SettingsChanged", store.PutSettings{User: user, Body: json.RawMessage(body)})
}

func (s *suite) putReadMark(chat string, seq int64) *store.Entry {
	return s.entry(chat, "", "ChatRead", store.PutReadMark{ReadMark: store.ReadMark{ChatID: chat, Seq: seq}})
}

func testAccessReadMarks(s *suite, a Served) {
	s.startChat("c1")
	s.startChat("c2")
	mark := func(chat string, want int64) {
		s.Helper()
		got, err := a.ReadMark(s.ctx(), chat)
		s.ok(err)
		s.equal(got, want, "the read mark of "+chat)
	}
	mark("c1", 0)
	for _, seq := range []int64{3, 7, 5} {
		s.commit(s.putReadMark("c1", seq))
	}
	mark("c1", 7) // it only moves on
	mark("c2", 0)
	s.fails(s.Commit(s.ctx(), &store.Batch{Entries: []*store.Entry{s.putReadMark("none", 1)}}), store.ErrNotFound, "marking no chat")
	for what, f := range map[string]store.Filter{"the owner": {User: user}, "the chat": {Chat: "c1"}} {
		list, _ := s.changes(2, 0, f)
		if len(list) != 3 {
			s.Fatalf("%s is told of %d marks: %+v", what, len(list), list)
		}
		s.equal(list[2].Docs, []store.Document{{Collection: "read-marks", ID: "c1", Data: store.ReadMark{ChatID: "c1", Seq: 7}}}, "a read mark in a change")
	}
	for what, f := range map[string]store.Filter{"another user": {User: "bert"}, "another chat": {Chat: "c2"}} {
		if list, _ := s.changes(2, 0, f); len(list) != 0 {
			s.Errorf("%s is told of the marks: %+v", what, list)
		}
	}
	s.commit(s.entry("c1", "", "ChatDeleted", store.DeleteChat{ID: "c1"}))
	s.startChat("c1")
	mark("c1", 0)
}

func testAccessAudit(s *suite, a Served) {
	var want []store.Audit // newest first
	for n := range 5 {
		var line store.Audit
		fill(&line, fmt.Sprint("line ", n))
		line.UserID, line.Action = []string{"anna", "bert"}[n%2], []string{"login", "logout", "login"}[n%3]
		s.ok(a.Audit(s.ctx(), line))
		want = append([]store.Audit{line}, want...)
	}
	lines := func(q store.AuditQuery, picked ...int) []store.Audit {
		s.Helper()
		got, err := a.Audits(s.ctx(), q)
		s.ok(err)
		wanted := make([]store.Audit, len(picked))
		for i, n := range picked {
			wanted[i] = want[n]
			if i < len(got) {
				wanted[i].Number = got[i].Number // the store's to give
			}
		}
		s.equal(got, wanted, fmt.Sprintf("the lines of %+v", q))
		return got
	}
	all := lines(store.AuditQuery{Limit: 10}, 0, 1, 2, 3, 4)
	for i := 1; i < len(all); i++ {
		if all[i].Number >= all[i-1].Number {
			s.Errorf("line %d comes before line %d", all[i-1].Number, all[i].Number)
		}
	}
	lines(store.AuditQuery{Limit: 2}, 0, 1)
	lines(store.AuditQuery{Limit: 2, Before: all[1].Number}, 2, 3)
	lines(store.AuditQuery{Limit: 10, User: "anna"}, 0, 2, 4)
	lines(store.AuditQuery{Limit: 10, Action: "logout"}, 0, 3)
	lines(store.AuditQuery{Limit: 10, User: "bert", Action: "logout"}, 3)
}

func testAccessIsDurable(s *suite, a Served) {
	s.startChat("c1")
	s.ok(a.AddUser(s.ctx(), store.User{ID: "anna", Name: "Anna", CreatedAt: 3}))
	s.ok(a.AddKey(s.ctx(), store.Key{ID: "k1", UserID: "anna", Kind: store.KeyToken, Hash: "h1"}))
	s.commit(s.putSettings("anna", `{"a":1}`), s.putReadMark("c1", 4))
	s.ok(a.Audit(s.ctx(), store.Audit{Action: "login"}))
	s.reopen()
	a, _ = s.Store.(Served) // open returns nothing else
	key, err := a.KeyByHash(s.ctx(), "h1")
	s.ok(err)
	settings, err := a.Settings(s.ctx(), "anna")
	s.ok(err)
	mark, err := a.ReadMark(s.ctx(), "c1")
	s.ok(err)
	lines, err := a.Audits(s.ctx(), store.AuditQuery{Limit: 5})
	s.ok(err)
	if key.ID != "k1" || string(settings) != `{"a":1}` || mark != 4 || len(lines) != 1 || lines[0].Action != "login" {
		s.Errorf("after opening again: %+v %s %d %+v", key, settings, mark, lines)
	}
}
