// Pages: how lists are asked for and answered.

package api

import (
	"cmp"
	"encoding/base64"
	"fmt"

	"github.com/cadre-dev/cadre/internal/api/wire"
	"github.com/cadre-dev/cadre/internal/store"
)

// PageInput is what all lists understand.
type PageInput struct {
	Cursor string `query:"cursor" maxLength:"100" doc:"Where the page begins: next of the page before it."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"The most entries of a page. A page of long entries may have fewer."`
	Order  string `query:"order" enum:"asc,desc" doc:"Oldest first or newest first."`
}

// window reads it; fallback is the order if none is asked for.
func (p PageInput) window(fallback string) (store.Window, error) {
	w := store.Window{Limit: min(cmp.Or(p.Limit, defaultPage), maxPage), Bytes: pageBytes, Desc: cmp.Or(p.Order, fallback) == "desc"}
	if p.Cursor == "" {
		return w, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	c := &store.Cursor{}
	if err == nil {
		_, err = fmt.Sscanf(string(b), "%d/%d", &c.Key, &c.Row)
	}
	if err != nil {
		return w, unprocessable("cursor", "the cursor is none that this server gave", "begin again without a cursor")
	}
	w.After = c
	return w, nil
}

// pageOf makes the answer.
func pageOf[T any](items []T, next *store.Cursor, err error) (*body[wire.Page[T]], error) {
	if err != nil {
		return nil, err
	}
	p := wire.Page[T]{Items: items}
	if p.Items == nil {
		p.Items = []T{}
	}
	if next != nil {
		p.Next = base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d/%d", next.Key, next.Row))
	}
	return &body[wire.Page[T]]{p}, nil
}
