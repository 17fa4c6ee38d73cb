// Package search holds keyword_search: it finds the places of a repository
// that matter for a question, without knowing a pattern for them.
//
// The files come from the walker of package files and are read through it. If
// ripgrep is there, it only says beforehand which files need not be read, so
// that the results are the same without it.
package search

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cadre-dev/cadre/internal/tool"
	"github.com/cadre-dev/cadre/internal/tool/files"
)

//go:embed keyword_search.md
var description string

const schema = `{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":1000},"keywords":{"type":"array","items":{"type":"string","minLength":1,"maxLength":100},"maxItems":20},"path":{"type":"string"},"glob":{"type":"string"}},"required":["query"],"additionalProperties":false}`

const (
	maxKeywords = 20
	rankFrom    = 40 // files from which on Rank is asked
	rankAtMost  = 200
	rankTimeout = 20 * time.Second
)

// Options say how keyword_search works.
type Options struct {
	// Rank orders candidates by how much they matter for query, the best
	// first, as indices into candidates; it may leave some out. It is asked
	// when there are more files than a model wants to look through. nil, an
	// error and indices that do not exist leave the tool's own order.
	Rank func(ctx context.Context, env tool.Env, query string, candidates []string) ([]int, error)

	NoRipgrep bool // do not use rg, even if it is there
}

type input struct {
	Query    string   `json:"query"`
	Keywords []string `json:"keywords"`
	Path     string   `json:"path"`
	Glob     string   `json:"glob"`
}

// Keyword returns the keyword_search tool.
func Keyword(o Options) tool.Tool {
	s := &searcher{rank: o.Rank}
	if rg, err := exec.LookPath("rg"); err == nil && !o.NoRipgrep {
		s.rg = rg
	}
	return tool.Tool{
		Name:        "keyword_search",
		Description: strings.TrimSpace(description),
		Schema:      json.RawMessage(schema),
		Class:       tool.Reads,
		Plan:        plan,
		Run:         s.run,
	}
}

type searcher struct {
	rank func(ctx context.Context, env tool.Env, query string, candidates []string) ([]int, error)
	rg   string // empty: there is none
}

func read(raw json.RawMessage) (input, []string, error) {
	var in input
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, nil, fmt.Errorf("reading the input: %w", err)
	}
	keywords := in.Keywords
	if len(keywords) == 0 {
		keywords = wordsOf(in.Query)
	}
	folded, err := normalise(keywords)
	return in, folded, err
}

func plan(_ context.Context, env tool.Env, raw json.RawMessage) (tool.Action, error) {
	in, keywords, err := read(raw)
	if err != nil {
		return tool.Action{}, err
	}
	tree, err := files.OpenTree(env)
	if err != nil {
		return tool.Action{}, err
	}
	defer tree.Close()
	names, err := tree.Names(in.Path)
	if err != nil {
		return tool.Action{}, err
	}
	return tool.Action{
		Class: tool.Reads, Paths: names,
		Shown: fmt.Sprintf("Search for %s in %s", strings.Join(keywords, ", "), files.Shown(names[0])),
	}, nil
}

func (s *searcher) run(ctx context.Context, env tool.Env, raw json.RawMessage) (tool.Result, error) {
	in, keywords, err := read(raw)
	if err != nil {
		return tool.Result{}, err
	}
	tree, err := files.OpenTree(env)
	if err != nil {
		return tool.Result{}, err
	}
	defer tree.Close()
	names, note, err := tree.Files(ctx, in.Path, in.Glob)
	if err != nil {
		return tool.Result{}, err
	}
	c := newCollection(keywords, len(names))
	if err := c.collect(ctx, tree, names, s.filter(ctx, env.Dir, keywords, names)); err != nil {
		return tool.Result{}, fmt.Errorf("searching: %w", err)
	}
	if env.MayRead != nil {
		all := len(c.files)
		c.files = slices.DeleteFunc(c.files, func(f *candidate) bool { return !env.MayRead(f.name) })
		if n := all - len(c.files); n > 0 {
			note += fmt.Sprintf("[files that match and are not shown, as reading them asks first or is denied: %d]\n", n)
		}
	}
	found := s.order(ctx, env, in.Query, c)
	if err := ctx.Err(); err != nil {
		return tool.Result{}, fmt.Errorf("searching: %w", err)
	}
	return tool.Text(c.answer(found) + note), nil
}

// order sorts what was found, the best first.
func (s *searcher) order(ctx context.Context, env tool.Env, query string, c *collection) []*candidate {
	own := c.ranked()
	if s.rank == nil || len(own) <= rankFrom {
		return own
	}
	top := own[:min(len(own), rankAtMost)]
	summaries := make([]string, len(top))
	for i, f := range top {
		summaries[i] = c.summary(f)
	}
	ctx, cancel := context.WithTimeout(ctx, rankTimeout)
	defer cancel()
	wanted, err := s.rank(ctx, env, query, summaries)
	if err != nil {
		return own
	}
	out := make([]*candidate, 0, len(own))
	taken := make([]bool, len(own))
	for _, i := range wanted {
		if i >= 0 && i < len(top) && !taken[i] {
			taken[i] = true
			out = append(out, own[i])
		}
	}
	for i, f := range own {
		if !taken[i] {
			out = append(out, f)
		}
	}
	return out
}

// commonWords are the words of a question that are not looked for.
const commonWords = " a about after all an and any are as at be been before between but by can code could did do does done each file files find for from function get has have how i if in into is it its like look looking made make me method my no not of on once one only or other our out over please repository same search see set should show so some such than that the their them then there these they this those through to under up us use used uses using want was way we were what when where which while who whose why will with within without work works would you your "

// wordsOf gives the words of a query that are worth looking for.
func wordsOf(query string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(query, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	}) {
		if utf8.RuneCountInString(w) > 2 && !strings.Contains(commonWords, " "+strings.ToLower(w)+" ") && len(out) < maxKeywords {
			out = append(out, w)
		}
	}
	return out
}

// normalise folds keywords and drops those that say nothing.
func normalise(keywords []string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for _, k := range keywords {
		k = strings.TrimSpace(k)
		if strings.ContainsAny(k, "\n\r\x00\ufffd") || !utf8.ValidString(k) {
			return nil, fmt.Errorf("the keyword %q is not one line of text", k)
		}
		folded := string(fold([]byte(k)))
		if utf8.RuneCountInString(folded) < 2 || seen[folded] {
			continue
		}
		seen[folded] = true
		out = append(out, folded)
	}
	if len(out) == 0 {
		return nil, errors.New("there is nothing to look for: give keywords of two characters or more that are likely to stand in the code")
	}
	return out, nil
}
