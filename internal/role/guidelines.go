// When to delegate to whom, in words for a model that may delegate.

package role

import (
	"fmt"
	"strings"
)

// maxDescription bounds what is shown of a description: those of public role
// files run to pages of examples.
const maxDescription = 400

// Guidelines tells a model when to delegate, to whom, and when not to. It is
// empty if there is nobody to delegate to.
func Guidelines(delegates []Role) string {
	if len(delegates) == 0 {
		return ""
	}
	var b strings.Builder
	for _, d := range delegates {
		fmt.Fprintf(&b, "- %s: %s", d.Name, brief(d.Description))
		if len(d.When) > 0 {
			fmt.Fprintf(&b, " For: %s.", strings.Join(d.When, "; "))
		}
		if d.AsTool != nil {
			fmt.Fprintf(&b, " Also the tool %s.", d.AsTool.Name)
		}
		b.WriteByte('\n')
	}
	return strings.Replace(part("delegation"), "{{DELEGATES}}\n", b.String(), 1)
}

// brief is a description on one line, cut at a word.
func brief(s string) string {
	s, _, _ = strings.Cut(s, "<example>")
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, `\n`, " ")), " ")
	if len(s) <= maxDescription {
		return s
	}
	s = strings.ToValidUTF8(s[:maxDescription], "")
	if i := strings.LastIndexByte(s, ' '); i > 0 {
		s = s[:i]
	}
	return s + " …"
}
