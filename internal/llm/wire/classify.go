// Sorting errors into kinds, by what can be done about them.

package wire

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cadre-dev/cadre/internal/llm"
)

// Classify makes an error of an answer that is one. status is 0 for an error
// object that came inside a stream. Secrets, and whatever looks like a key, are
// taken out of its message.
func Classify(status int, header http.Header, body []byte, secrets ...string) *llm.Error {
	f := ParseFault(body)
	return f.Error(status, header, secrets...)
}

// Error makes an error of f; see Classify.
func (f Fault) Error(status int, header http.Header, secrets ...string) *llm.Error {
	if status == 0 {
		status = f.Status
	}
	kind := f.Kind(status)
	e := &llm.Error{Kind: kind, Status: status, RetryAfter: RetryAfter(kind, header, f), RequestID: RequestID(header)}
	if e.RequestID == "" {
		e.RequestID = f.RequestID
	}
	text := f.text(status)
	if to := header.Get("Location"); to != "" && status < http.StatusBadRequest {
		text = "the address of the API is wrong: it redirects to " + to
	}
	e.Message = Scrub(shorten(text), secrets...)
	return e
}

// text is what is shown of f.
func (f Fault) text(status int) string {
	if f.Message != "" {
		if f.Detail != "" && f.Message == "Provider returned error" { // OpenRouter: the news is behind it
			return f.Message + ": " + strings.Join(strings.Fields(f.Detail), " ")
		}
		return f.Message
	}
	for _, s := range []string{f.Code, f.Type, http.StatusText(status)} {
		if s != "" {
			return s
		}
	}
	return "the vendor gave no reason"
}

// Kind sorts f, which came with an HTTP status or none (0). What a vendor says
// in particular counts before its status: the same status means a rate limit
// here, an empty account there and an overlong prompt elsewhere. Classes that
// vendors give to everything (invalid_request_error) count last.
func (f Fault) Kind(status int) llm.ErrorKind {
	if status == 0 || status == http.StatusOK {
		status = f.Status
	}
	words := strings.ToLower(f.Type + "\n" + f.Code + "\n" + f.Message + "\n" + f.Detail)
	names := []string{strings.ToLower(f.Code), strings.ToLower(f.Type)}
	for _, rule := range rules {
		if rule.matches(names, words) {
			return rule.kind
		}
	}
	if kind, ok := statusKinds[status]; ok {
		return kind
	}
	in := func(w string) bool { return containsAll(words, w) }
	switch {
	case status >= 500:
		return llm.ErrServer
	case slices.ContainsFunc(overflowWords, in) && !slices.ContainsFunc(outputWords, in):
		return llm.ErrOverflow
	case status >= 300:
		return llm.ErrBadRequest
	}
	for _, n := range names {
		if kind, ok := genericNames[n]; ok {
			return kind
		}
	}
	return llm.ErrServer
}

// rule recognises one kind, by the vendor's names for it or by its wording. A
// wording is in lower case; " … " in it stands for anything.
type rule struct {
	kind  llm.ErrorKind
	names []string
	words []string
}

func (r *rule) matches(names []string, words string) bool {
	for _, n := range names {
		if n != "" && slices.Contains(r.names, n) {
			return true
		}
	}
	for _, w := range r.words {
		if containsAll(words, w) {
			return true
		}
	}
	return false
}

func containsAll(text, pieces string) bool {
	for piece := range strings.SplitSeq(pieces, " … ") {
		i := strings.Index(text, piece)
		if i < 0 {
			return false
		}
		text = text[i+len(piece):]
	}
	return true
}
