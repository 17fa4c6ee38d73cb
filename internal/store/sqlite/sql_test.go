// This file reads the SQL of the package: the log only grows, and no read scans
// a table.

package sqlite

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// sqlTexts returns the string literals of the package's own files by the name
// of the declaration they stand in, and the migrations by file.
func sqlTexts(t *testing.T) map[string][]string {
	t.Helper()
	texts := map[string][]string{}
	files, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				texts[d.Name.Name] = append(texts[d.Name.Name], literals(t, d)...)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok {
						texts[v.Names[0].Name] = append(texts[v.Names[0].Name], literals(t, v)...)
					}
				}
			}
		}
	}
	list, err := scripts()
	if err != nil {
		t.Fatal(err)
	}
	texts["migrations"] = list
	return texts
}

func literals(t *testing.T, n ast.Node) (texts []string) {
	t.Helper()
	ast.Inspect(n, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			text, err := strconv.Unquote(l.Value)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		return true
	})
	return texts
}

var (
	writesLog = regexp.MustCompile(`(?is)\b(UPDATE|DELETE\s+FROM|REPLACE\s+INTO|DROP\s+TABLE|ALTER\s+TABLE)\s+(OR\s+\w+\s+)?"?(events|messages)\b`)
	upsertLog = regexp.MustCompile(`(?is)\bINTO\s+"?(events|messages)\b.*\bON\s+CONFLICT\b`)
	// The only thing that may change in a message is its place.
	placesMessage = regexp.MustCompile(`(?is)^UPDATE messages SET pos = \? WHERE`)
)

// breaksTheLog tells whether a statement changes what must only grow.
func breaksTheLog(sql string) bool {
	if placesMessage.MatchString(sql) {
		return false
	}
	return writesLog.MatchString(sql) || upsertLog.MatchString(sql)
}

// TestLogIsAppendOnly reads the SQL of this package: nothing may change or
// remove an event or the parts of a message, but the statements that delete a
// whole chat.
func TestLogIsAppendOnly(t *testing.T) {
	for _, planted := range []string{
		"UPDATE events SET body = ?", "update\n events set type = ''", "DELETE FROM events WHERE id = ?", "REPLACE INTO events VALUES (?)",
		"INSERT OR REPLACE INTO messages (n) VALUES (?)", "UPDATE messages SET parts = ? WHERE n = ?", "DROP TABLE events",
		"UPDATE OR IGNORE events SET at = 1", "INSERT INTO events (id) VALUES (?) ON CONFLICT (id) DO UPDATE SET at = 1",
		"UPDATE messages SET pos = ?, parts = ? WHERE n = ?",
	} {
		if !breaksTheLog(planted) {
			t.Errorf("the test would not catch %q", planted)
		}
	}
	texts := sqlTexts(t)
	deletes := 0
	for name, list := range texts {
		for _, sql := range list {
			if !breaksTheLog(sql) {
				continue
			}
			if name == "deleteChat" && strings.HasPrefix(sql, "DELETE FROM ") {
				deletes++
				continue
			}
			t.Errorf("%s changes the log: %s", name, sql)
		}
	}
	if deletes != deleteChatEvents+1 { // of events, and of messages
		t.Errorf("%d statements delete from the log with a chat, want %d: does the test still find them?", deletes, deleteChatEvents+1)
	}
	if len(texts["insertEventSQL"]) != 1 {
		t.Error("the statement that writes events was not found: does the test still read the right files?")
	}
}

// TestReadsAreIndexed asks SQLite how it would run each statement: none may
// read a table from end to end.
func TestReadsAreIndexed(t *testing.T) {
	s := open(t, t.TempDir())
	defer mustClose(t, s)
	inbox := func(parts ...string) string { return inboxSQL + strings.Join(parts, "") + inboxOrderSQL }
	queries := map[string]string{
		"agent": agentSQL, "agent row": agentRowSQL, "children": childrenSQL, "tree": treeSQL, "caused": causedSQL,
		"load": loadSQL, "log": logSQL, "unfinished": unfinishedSQL, "unfinished of chat": unfinishedOfChatSQL,
		"history": historySQL, "queued": queuedSQL, "user message": userMessageSQL, "message row": messageRowSQL, "find message": findMessageSQL,
		"task": taskSQL, "task row": taskRowSQL, "results": resultsSQL, "tasks": tasksSQL,
		"chat": chatSQL, "chat row": chatRowSQL, "chats of user": chatsOfUserSQL, "user": userSQL,
		"item": itemSQL, "item row": itemRowSQL, "inbox of user": inbox(inboxWaitingSQL, inboxUserSQL), "inbox of chat": inbox(inboxChatSQL),
		"inbox of agent": inbox(inboxAgentSQL), "closed inbox of user": inbox(inboxUserSQL), "inbox of chat and user": inbox(inboxWaitingSQL, inboxUserSQL, inboxChatSQL),
		"grants of chat": inbox(inboxGrantedSQL, inboxChatSQL), "artifact": artifactSQL, "prompt": promptSQL, "last": lastSeqSQL,
		"call": callSQL, "calls": callsSQL, "records": recordsSQL, "call row": callRowSQL, "model calls": modelCallsSQL, "model row": modelRowSQL,
		"changes": changesSQL, "changes of agent": changesOfAgentSQL, "changes of chat": changesOfChatSQL, "born": chatBornSQL,
		"find agent": findAgentSQL, "find chat": findChatSQL, "find task": findTaskSQL, "find call": findCallSQL,
		"set head": setHeadSQL, "place": placeMessageSQL, "set item": setItemSQL,
	}
	for i, sql := range deleteChat {
		queries["delete chat "+strconv.Itoa(i)] = sql
	}
	for name, sql := range queries {
		r := &reader{conn: s.writer.conn}
		err := r.query("EXPLAIN QUERY PLAN "+sql, nil, func(c *columns) error {
			step := c.s.ColumnText(3)
			// The index of waiting agents holds nothing but what is asked for.
			if strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "agents_waiting") || strings.Contains(step, "AUTOMATIC") {
				t.Errorf("%s: %s", name, step)
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
