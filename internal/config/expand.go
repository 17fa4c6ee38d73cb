// References to environment variables in values.

package config

import "strings"

// expand replaces ${NAME} and ${NAME:-otherwise} in text. Missing are the names
// that are not set and have no alternative; they leave nothing behind. What is
// not of this form stays as it is, and $${ stands for a plain ${.
func expand(text string, env func(string) string) (out string, missing []string) {
	var b strings.Builder
	for {
		at := strings.Index(text, "${")
		if at < 0 {
			b.WriteString(text)
			return b.String(), missing
		}
		if at > 0 && text[at-1] == '$' {
			b.WriteString(text[:at-1] + "${")
			text = text[at+2:]
			continue
		}
		end := strings.IndexByte(text[at:], '}')
		if end < 0 {
			b.WriteString(text)
			return b.String(), missing
		}
		inside := text[at+2 : at+end]
		name, otherwise, hasOther := strings.Cut(inside, ":-")
		if !isVariable(name) {
			b.WriteString(text[:at+end+1])
			text = text[at+end+1:]
			continue
		}
		value := env(name)
		switch {
		case value != "":
		case hasOther:
			value = otherwise
		default:
			missing = append(missing, name)
		}
		b.WriteString(text[:at] + value)
		text = text[at+end+1:]
	}
}

// isVariable tells whether name can be that of an environment variable.
func isVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
