// This file keeps the numbers of changes unique through a restore: what comes
// after it has higher numbers than anything that was ever told from the folder,
// so that who followed the replaced database notices.

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/cadre-dev/cadre/internal/store"
)

// restored is the type of the event that a restore leaves.
const restored = "restored"

const (
	landmarkSQL  = `SELECT e.id, e.at, e.type, e.touched, c.id FROM events e LEFT JOIN chats c ON c.n = e.chat`
	lastEventSQL = landmarkSQL + ` ORDER BY e.id DESC LIMIT 1`
	eventAtSQL   = landmarkSQL + ` WHERE e.id = ?`
	replacedSQL  = `SELECT id, touched FROM events WHERE chat IS NULL AND agent IS NULL AND id > ? AND type = '` + restored + `'`
)

// gap is what a restore leaves out and makes void.
type gap struct {
	skipped int64 // numbers before it that no event has
	void    int64 // numbers before it that are of the replaced database
}

// landmark is an event as far as it tells one log from another.
type landmark struct {
	id, at              int64
	kind, touched, chat string
}

func landmarkOf(conn *sqlite.Conn, sql string, with func(*params)) (landmark, error) {
	l, err := one(&reader{conn: conn}, sql, with, func(c *columns) (landmark, error) {
		return landmark{c.int64(), c.int64(), c.text(), c.text(), c.text()}, nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return landmark{}, nil
	}
	if err != nil {
		return landmark{}, err
	}
	return *l, nil
}

// renumber notes in the copy at fresh that it takes the place of the database at
// name. If the copy is of that one, the numbers since then are void; if it is of
// another, or that cannot be told, all are.
func renumber(fresh, name string) error {
	to, err := sqlite.OpenConn(fresh, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	own, err := landmarkOf(to, lastEventSQL, nil)
	if err != nil {
		return errors.Join(err, to.Close())
	}
	old, kin := replaced(name, own)
	at := max(old, own.id) + 1
	g := gap{skipped: at - 1 - own.id, void: at - 1}
	if kin {
		g.void = max(0, old-own.id)
	}
	stmt, err := to.Prepare(insertEventSQL)
	if err == nil {
		p := bind(stmt)
		p.int(at)
		p.ref(0)
		p.ref(0)
		p.ints(time.Now().UnixMilli(), 0)
		p.texts(restored, "", fmt.Sprintf("%c%d,%d", touchedGap, g.skipped, g.void))
		p.blob(nil)
		p.blob(nil)
		err = exec(stmt)
	}
	return errors.Join(err, to.Close())
}

// replaced tells the newest number of the database at name, and whether own is
// an event of it. One that cannot be read has none: it is damaged, or absent.
func replaced(name string, own landmark) (last int64, kin bool) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return 0, false
	}
	conn, err := openReader(name, Options{}.withDefaults())
	if err != nil {
		return 0, false
	}
	defer func() { _ = conn.Close() }() // it was only read
	newest, err := landmarkOf(conn, lastEventSQL, nil)
	if err != nil {
		return 0, false
	}
	same, err := landmarkOf(conn, eventAtSQL, func(p *params) { p.int(own.id) })
	return newest.id, err == nil && same == own
}

// Replaced implements store.Lists.
func (s *Store) Replaced(ctx context.Context, since int64) (bool, error) {
	found := false
	_, err := readList(ctx, s, "looking for restores", replacedSQL, func(p *params) { p.int(since) }, func(c *columns) (struct{}, error) {
		id := c.int64()
		codes, err := parseTouched(c.text())
		for _, code := range codes {
			found = found || since >= id-code.gap.void
		}
		return struct{}{}, err
	})
	return found, err
}
