// The wire formats of the search services.

package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

func providers() map[string]provider {
	return map[string]provider{
		"tavily": {
			name: "Tavily", baseURL: "https://api.tavily.com", needKey: true,
			request: tavilyRequest, results: plainResults, detail: tavilyDetail,
			advice: map[int]string{
				432: "the plan is used up: the user has to look at the account",
				433: "the pay-as-you-go limit is reached: the user has to look at the account",
			},
		},
		"brave": {
			name: "Brave", baseURL: "https://api.search.brave.com/res/v1", needKey: true,
			request: braveRequest, results: braveResults, detail: braveDetail,
			advice: map[int]string{
				422: "if it is about the token, the user has to check the key in the configuration; otherwise shorten the query (400 characters, 50 words)",
			},
		},
		"searxng": {
			name:    "SearXNG",
			request: searxngRequest, results: plainResults, detail: func([]byte) string { return "" },
			advice: map[int]string{
				403: "the instance gives no JSON: its settings.yml needs json under search.formats",
				429: "the instance limits robots: the user has to allow this client, or use an own instance",
			},
		},
	}
}

// Tavily: https://docs.tavily.com/api-reference/endpoint/search

func tavilyRequest(ctx context.Context, base, key string, in searchInput) (*http.Request, error) {
	body, err := json.Marshal(struct {
		Query   string   `json:"query"`
		Max     int      `json:"max_results"`
		Domains []string `json:"include_domains,omitempty"`
	}{in.Query, int(in.Count), in.Domains})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/search", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	return req, nil
}

func tavilyDetail(body []byte) string {
	var failure struct {
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &failure) != nil {
		return ""
	}
	var detail struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(failure.Detail, &detail) == nil && detail.Error != "" {
		return detail.Error
	}
	return string(failure.Detail) // a text or a list of what is invalid
}

// Brave: https://api-dashboard.search.brave.com/api-reference/web/search/get

func braveRequest(ctx context.Context, base, key string, in searchInput) (*http.Request, error) {
	query := url.Values{"q": {withSites(in)}, "count": {strconv.Itoa(int(in.Count))}, "text_decorations": {"false"}, "result_filter": {"web"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/web/search?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Subscription-Token", key)
	return req, nil
}

func braveResults(body []byte) ([]found, error) {
	var answer struct {
		Type string `json:"type"`
		Web  struct {
			Results []struct {
				Title         string   `json:"title"`
				URL           string   `json:"url"`
				Description   string   `json:"description"`
				PageAge       string   `json:"page_age"`
				ExtraSnippets []string `json:"extra_snippets"`
			} `json:"results"`
		} `json:"web"` // left out if nothing was found
	}
	if err := decodeAnswer(body, &answer); err != nil {
		return nil, err
	}
	if answer.Type != "search" {
		return nil, fmt.Errorf("it is of type %q", answer.Type)
	}
	var list []found
	for _, r := range answer.Web.Results {
		text := strings.Join(append([]string{r.Description}, r.ExtraSnippets...), " … ")
		_, title := words(r.Title)
		_, text = words(text) // it may hold marks and entities of HTML
		list = append(list, found{title, r.URL, r.PageAge, text})
	}
	return list, nil
}

func braveDetail(body []byte) string {
	var failure struct {
		Error struct {
			Code   string `json:"code"`
			Detail string `json:"detail"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &failure) != nil {
		return ""
	}
	return strings.TrimSpace(failure.Error.Code + " " + failure.Error.Detail)
}

// SearXNG: https://docs.searxng.org/dev/search_api.html

func searxngRequest(ctx context.Context, base, key string, in searchInput) (*http.Request, error) {
	query := url.Values{"q": {withSites(in)}, "format": {"json"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/search?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	if key != "" { // for an instance behind a gate
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return req, nil
}

// plainResults reads the form that Tavily and SearXNG share but for one name.
func plainResults(body []byte) ([]found, error) {
	var answer struct {
		Results *[]struct {
			Title   string `json:"title"`
			URL     string `json:"url"`
			Content string `json:"content"`
			Tavily  string `json:"published_date"`
			SearXNG string `json:"publishedDate"`
		} `json:"results"`
	}
	if err := decodeAnswer(body, &answer); err != nil {
		return nil, err
	}
	if answer.Results == nil {
		return nil, errors.New("it has no results")
	}
	var list []found
	for _, r := range *answer.Results {
		list = append(list, found{r.Title, r.URL, cmp.Or(r.Tavily, r.SearXNG), r.Content})
	}
	return list, nil
}

// withSites adds the operator that most engines know for one site or several.
// The results are filtered as well.
func withSites(in searchInput) string {
	if len(in.Domains) == 0 {
		return in.Query
	}
	return in.Query + " site:" + strings.Join(in.Domains, " OR site:")
}

func decodeAnswer(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("reading JSON: %w", err)
	}
	return nil
}
