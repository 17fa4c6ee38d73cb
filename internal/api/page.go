// The pages that the server has of its own: a list of what the API offers, and
// one that stands in for the web app. They load nothing.

package api

import (
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// pagePolicy lets a page have its own style sheet and nothing else.
const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var pages = template.Must(template.New("").Parse(`{{define "head"}}<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Cadre</title>
<style>body{font:15px/24px system-ui,sans-serif;max-width:760px;margin:48px auto;padding:0 16px;color-scheme:light dark}
code{font:13px/20px ui-monospace,monospace}dt{margin-top:16px}dd{margin:0 0 0 16px}</style></head><body>{{end}}
{{define "plain"}}{{template "head"}}<h1>Cadre</h1><p>The server runs. Its API is described in <a href="/docs">/docs</a>
and, for programs, in <a href="/openapi.json">/openapi.json</a>.</p></body></html>
{{end}}
{{define "docs"}}{{template "head"}}<h1>Cadre: the HTTP API</h1><p>The whole of it, with schemas, is in <a href="/openapi.json">/openapi.json</a>
(OpenAPI 3.1). Send <code>Authorization: Bearer TOKEN</code>; <code>users/me</code> stands for the caller. Errors are
<code>application/problem+json</code> with a stable <code>code</code>.</p><dl>
{{range .}}<dt><code>{{.Method}} {{.Path}}</code></dt><dd>{{.Summary}}{{if .Scope}} · scope {{.Scope}}{{end}}{{range .Query}}<br><code>{{.}}</code>{{end}}</dd>
{{end}}</dl></body></html>
{{end}}`))

func showPage(w http.ResponseWriter, name string, data any) {
	w.Header().Set("Content-Security-Policy", pagePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = pages.ExecuteTemplate(w, name, data) // who has gone needs no answer
}

func plainPage(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/" || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	showPage(w, "plain", nil)
}

// listed is a route as the page shows it.
type listed struct {
	Method, Path, Summary, Scope string
	Query                        []string
}

func (s *Server) docsPage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	var all []listed
	for path, item := range s.api.OpenAPI().Paths {
		for _, op := range operations(item) {
			l := listed{Method: op.Method, Path: path, Summary: op.Summary}
			l.Scope, _ = op.Extensions["x-scope"].(string)
			for _, p := range op.Parameters {
				if p.In == "query" {
					l.Query = append(l.Query, p.Name)
				}
			}
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b listed) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
	showPage(w, "docs", all)
}

func operations(item *huma.PathItem) (all []*huma.Operation) {
	for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
		if op != nil {
			all = append(all, op)
		}
	}
	return all
}
