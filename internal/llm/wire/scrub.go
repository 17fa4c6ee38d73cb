// Keeping keys out of error texts.

package wire

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// keyHeaders are the headers that carry keys.
var keyHeaders = []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"}

// keyLike matches what looks like a key of a known vendor, whole or with a
// part starred out, and whatever follows the word Bearer. Vendors repeat the
// key they refuse, and proxies the headers they got.
var keyLike = regexp.MustCompile(`\b(?:sk|pk|rk|gsk|xai|pplx|tgp|fw|nvapi|hf|r8)[-_][A-Za-z0-9_*.-]{8,}|\bAIza[A-Za-z0-9_*-]{8,}|\bya29\.[A-Za-z0-9_.-]{8,}|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]{8,}|\b((?i:bearer) +)[A-Za-z0-9_.~+/=*-]{16,}|([?&](?i:key|api_key|access_token)=)[^&\s"']{6,}`)

const (
	redacted = "[redacted]"
	// shortest is the length from which a key is one. Servers that want none
	// are given words like "none", which occur in every other message.
	shortest = 8
	// telling is the length from which a piece of a key says too much.
	telling = 12
)

// Secrets returns the keys that header carries.
func Secrets(header http.Header) []string {
	var secrets []string
	for _, name := range keyHeaders {
		for _, v := range header.Values(name) {
			if _, token, ok := strings.Cut(v, " "); ok {
				secrets = append(secrets, token)
			}
			secrets = append(secrets, v)
		}
	}
	return secrets
}

// spellings returns the ways in which a secret is written: as it is, in an
// address, in JSON and in base64.
func spellings(secret string) []string {
	out := []string{secret, url.QueryEscape(secret), url.PathEscape(secret), strings.ReplaceAll(secret, "/", `\/`)}
	if quoted, err := json.Marshal(secret); err == nil {
		out = append(out, string(quoted[1:len(quoted)-1]))
	}
	for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		out = append(out, e.EncodeToString([]byte(secret)))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Scrub takes the secrets, and what looks like a key, out of text.
func Scrub(text string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) < shortest {
			continue
		}
		for _, w := range spellings(s) {
			text = strings.ReplaceAll(text, w, redacted)
		}
		text = scrubStart(text, s)
	}
	return keyLike.ReplaceAllString(text, "${1}${2}"+redacted)
}

// scrubStart takes the beginnings of a secret out of text: some servers repeat
// a key without its end. One that begins with words is none, but a header's.
func scrubStart(text, secret string) string {
	if len(secret) <= telling || !strings.ContainsAny(secret[:telling], "0123456789") {
		return text
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, secret[:telling])
		out.WriteString(before)
		if !found {
			return out.String()
		}
		n := 0
		for n < len(rest) && telling+n < len(secret) && rest[n] == secret[telling+n] {
			n++
		}
		out.WriteString(redacted)
		text = rest[n:]
	}
}
