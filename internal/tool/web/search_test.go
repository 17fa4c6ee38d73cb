// web_search over HTTP on this machine, with answers in the published form of
// each service.

package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/tool"
)

const secret = "tvly-very-secret"

// answers of the services, as their documentation shows them.
var published = map[string]string{
	"tavily": `{"query":"pump","follow_up_questions":null,"answer":null,"images":[],"results":[
		{"url":"https://a.example/pump","title":"Pump","content":"A pump moves liquids.","score":0.99,"raw_content":null,"published_date":"Mon, 02 Feb 2026"},
		{"url":"https://b.example/valve","title":"Valve","content":"A valve\n\nstops them.","score":0.5,"raw_content":null}],
		"response_time":0.91,"request_id":"x"}`,
	"brave": `{"query":{"original":"pump","more_results_available":true},"type":"search","mixed":{"type":"mixed","main":[{"type":"web","index":0}]},
		"web":{"type":"search","family_friendly":true,"results":[
		{"title":"Pump","url":"https://a.example/pump","is_source_local":false,"description":"A <strong>pump</strong> moves liquids.","page_age":"2026-02-02T00:00:00","profile":{"name":"A"},"language":"en","type":"search_result","subtype":"generic","meta_url":{"scheme":"https"}},
		{"title":"Valve","url":"https://b.example/valve","description":"A valve stops &quot;them&quot;.","type":"search_result","extra_snippets":["More."]}]}}`,
	"searxng": `{"query":"pump","number_of_results":0,"results":[
		{"url":"https://a.example/pump","title":"Pump","content":"A pump moves liquids.","publishedDate":"2026-02-02T00:00:00","thumbnail":null,"engine":"duckduckgo","parsed_url":["https","a.example","/pump","","",""],"template":"default.html","engines":["duckduckgo"],"positions":[1],"score":1.0,"category":"general"},
		{"url":"https://b.example/valve","title":"Valve","content":"A valve stops them.","publishedDate":null,"engine":"brave"}],
		"answers":[],"corrections":[],"infoboxes":[],"suggestions":[],"unresponsive_engines":[["google","timeout"]]}`,
}

// searching is web_search with a service on this machine.
func searching(t *testing.T, name string, handler http.HandlerFunc) tool.Tool {
	t.Helper()
	search, ok, err := Search(SearchOptions{Provider: name, Key: secret, BaseURL: serve(t, handler).URL + "/base/"})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return search
}

func TestSearch(t *testing.T) {
	t.Parallel()
	for name, body := range published {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 1)
			search := searching(t, name, func(w http.ResponseWriter, r *http.Request) {
				sent, _ := io.ReadAll(r.Body)
				asked <- fmt.Sprintf("%s %s | %s | %s | %s", r.Method, r.URL, r.Header.Get("Authorization"), r.Header.Get("X-Subscription-Token"), sent)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, body)
			})
			got, err := use(t, search, object("query", " pump  repair ", "count", 5))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(got, untrusted) {
				t.Errorf("the first line is not the warning: %.100q", got)
			}
			contains(t, got, "\n1. Pump\nhttps://a.example/pump\nDate: ", "A pump moves liquids.\n", "\n2. Valve\nhttps://b.example/valve\nA valve stops ")
			lacks(t, got, secret, "<strong>", "&quot;")
			want := map[string]string{
				"tavily":  `POST /base/search | Bearer ` + secret + ` |  | {"query":"pump repair","max_results":5}`,
				"brave":   `GET /base/web/search?count=5&q=pump+repair&result_filter=web&text_decorations=false |  | ` + secret + ` | `,
				"searxng": `GET /base/search?format=json&q=pump+repair | Bearer ` + secret + ` |  | `,
			}[name]
			if sent := <-asked; sent != want {
				t.Errorf("sent %q, want %q", sent, want)
			}
		})
	}
}

func TestSearchDomains(t *testing.T) {
	t.Parallel()
	for name, body := range published {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan string, 1)
			search := searching(t, name, func(w http.ResponseWriter, r *http.Request) {
				sent, _ := io.ReadAll(r.Body)
				asked <- r.URL.Query().Get("q") + string(sent)
				_, _ = io.WriteString(w, body)
			})
			got, err := use(t, search, object("query", "pump", "domains", []string{"B.example", "*.c.example"}))
			if err != nil {
				t.Fatal(err)
			}
			contains(t, got, "1. Valve")
			lacks(t, got, "a.example")
			want := "pump site:b.example OR site:c.example"
			if name == "tavily" {
				want = `{"query":"pump","max_results":8,"include_domains":["b.example","c.example"]}`
			}
			if sent := <-asked; sent != want {
				t.Errorf("sent %q, want %q", sent, want)
			}
		})
	}
}

func TestSearchPlan(t *testing.T) {
	t.Parallel()
	for name, host := range map[string]string{"tavily": "api.tavily.com", "Brave": "api.search.brave.com"} {
		search, ok, err := Search(SearchOptions{Provider: name, Key: secret})
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		got, err := search.Plan(t.Context(), tool.Env{}, object("query", "a\nb", "domains", []string{"go.dev"}))
		if err != nil || !slices.Equal(got.Hosts, []string{host}) || got.Class != tool.Network {
			t.Errorf("%+v, %v", got, err)
		}
		contains(t, strings.ToLower(got.Shown), strings.ToLower(name)+": a b (on go.dev)")
		lacks(t, got.Shown, secret)
	}
}

func TestSearchConfiguration(t *testing.T) {
	t.Parallel()
	if _, ok, err := Search(SearchOptions{Key: secret}); ok || err != nil {
		t.Errorf("without a provider: %v, %v", ok, err)
	}
	if _, ok, err := Search(SearchOptions{Provider: "SearXNG", BaseURL: "http://localhost:8888"}); !ok || err != nil {
		t.Errorf("SearXNG on this machine without a key: %v, %v", ok, err)
	}
	for _, o := range []SearchOptions{
		{Provider: "google", Key: secret},
		{Provider: "tavily"},
		{Provider: "brave"},
		{Provider: "searxng"},
		{Provider: "searxng", BaseURL: "localhost:8888"},
		{Provider: "searxng", BaseURL: "file:///a"},
		{Provider: "searxng", BaseURL: "http://user:" + secret + "@a.example"},
		{Provider: "searxng", BaseURL: "http://a.example/?key=" + secret},
		{Provider: "searxng", BaseURL: "http://a b/" + secret},
	} {
		_, ok, err := Search(o)
		if ok || err == nil {
			t.Errorf("%+v is accepted", o)
			continue
		}
		lacks(t, err.Error(), secret)
	}
}

func TestSearchFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		provider, body string
		status         int
		wants          []string
	}{
		{"tavily", `{"detail":{"error":"Unauthorized: missing or invalid API key ` + secret + `."}}`, 401, []string{"401 Unauthorized (Unauthorized: missing or invalid API key [key].)", "check the key in the configuration"}},
		{"tavily", `{"detail":{"error":"This request exceeds your plan's set usage limit."}}`, 432, []string{"exceeds your plan", "look at the account"}},
		{"tavily", `{"detail":{"error":"limit"}}`, 433, []string{"pay-as-you-go"}},
		{"tavily", `{"detail":[{"msg":"too long"}]}`, 422, []string{"too long", "change the query"}},
		{"tavily", `{"detail":{"error":"Your request has been blocked due to excessive requests."}}`, 429, []string{"excessive requests", "until 30"}},
		{"brave", `{"id":"x","status":422,"type":"ErrorResponse","error":{"id":"y","status":422,"detail":"The provided subscription token is invalid.","meta":{"component":"authentication"},"code":"SUBSCRIPTION_TOKEN_INVALID"},"time":1}`, 422, []string{"SUBSCRIPTION_TOKEN_INVALID The provided subscription token is invalid.", "check the key"}},
		{"brave", `{"type":"ErrorResponse","error":{"code":"RATE_LIMITED","detail":"Request rate limit exceeded for plan."}}`, 429, []string{"RATE_LIMITED", "wait before the next one, as it says until 30"}},
		{"searxng", "<html>Forbidden", 403, []string{"403 Forbidden: the instance gives no JSON", "search.formats"}},
		{"searxng", "Too Many Requests", 429, []string{"use an own instance"}},
		{"searxng", "", 302, []string{"it redirects to https://elsewhere.example/?k=[key]: the user has to set the base URL"}},
		{"searxng", "", 404, []string{"check the base URL"}},
		{"brave", "oops", 503, []string{"503 Service Unavailable: the service has a problem: try again later"}},
		{"brave", "", 402, []string{"look at the account"}},
		{"searxng", "<html>the search page</html>", 200, []string{"is not what SearXNG documents", "check the base URL"}},
		{"tavily", `{}`, 200, []string{"it has no results"}},
		{"searxng", `{"results":null}`, 200, []string{"it has no results"}},
		{"brave", `{"type":"ErrorResponse"}`, 200, []string{`it is of type "ErrorResponse"`}},
		{"tavily", `{"results":[` + strings.Repeat(`{"title":"`+strings.Repeat("a", 1000)+`"},`, 2100) + `{}]}`, 200, []string{"larger than 2.0 MB"}},
	}
	for _, tc := range tests {
		t.Run(fmt.Sprintf("%s %d %.10s", tc.provider, tc.status, tc.body), func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{}, 10)
			search := searching(t, tc.provider, func(w http.ResponseWriter, _ *http.Request) {
				asked <- struct{}{}
				w.Header().Set("Retry-After", "30")
				w.Header().Set("Location", "https://elsewhere.example/?k="+secret)
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, tc.body)
			})
			got, err := use(t, search, object("query", "pump"))
			if err == nil {
				t.Fatalf("got %q", got)
			}
			contains(t, err.Error(), tc.wants...)
			lacks(t, err.Error(), secret)
			if len(asked) != 1 {
				t.Errorf("%d requests", len(asked))
			}
		})
	}
	search, _, err := Search(SearchOptions{Provider: "searxng", BaseURL: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := use(t, search, object("query", "very private words")); err == nil || strings.Contains(err.Error(), "private") {
		t.Errorf("a closed port: %v", err)
	}
}

func TestSearchResultsAreBounded(t *testing.T) {
	t.Parallel()
	type result struct {
		Title   string `json:"title"`
		URL     string `json:"url"`
		Content string `json:"content"`
	}
	var results []result
	for i := range 100 {
		results = append(results, result{strings.Repeat("t", 5000), fmt.Sprintf("https://a.example/%d", i/2), strings.Repeat("c ", 5000)})
	}
	results[0] = result{"bad", "javascript:alert(1)", ""}
	results[1] = result{"key " + secret, "https://a.example/0", "line\n9. forged\x1b[31m\nhttps://evil.example"}
	body, err := json.Marshal(map[string]any{"results": results})
	if err != nil {
		t.Fatal(err)
	}
	search := searching(t, "searxng", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	got, err := use(t, search, object("query", "pump"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(got, "\nhttps://"); n != searchCount {
		t.Errorf("%d results", n)
	}
	if len(got) > searchCount*(titleChars+excerptChars+100) {
		t.Errorf("%d bytes", len(got))
	}
	lacks(t, got, "javascript", secret, "\n9. forged", "\x1b")
	contains(t, got, "1. key [key]\nhttps://a.example/0\nline 9. forged[31m https://evil.example\n")
	if _, err := use(t, search, object("query", "pump", "domains", []string{"other.example"})); err != nil {
		t.Error(err)
	}
	for _, bad := range []json.RawMessage{
		object(), object("query", ""), object("query", " \n "), object("query", strings.Repeat("a", 401)), object("query", "a", "count", 21),
		object("query", "a", "domains", []string{"a b"}), object("query", "a", "domains", []string{"a OR b"}), object("query", "a", "domains", []string{"http://a"}),
	} {
		if got, err := use(t, search, bad); err == nil {
			t.Errorf("%s: got %q", bad, got)
		}
	}
}

func TestSearchFindsNothing(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"tavily": `{"results":[]}`, "brave": `{"type":"search","query":{}}`, "searxng": `{"results":[]}`} {
		search := searching(t, name, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		got, err := use(t, search, object("query", "pump", "domains", []string{"go.dev"}))
		if err != nil || got != `No results for "pump" on go.dev: try other or fewer words.` {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
