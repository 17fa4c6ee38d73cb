// Comparing with the vendor's own SDK.

package anthropic

import (
	"testing"

	"github.com/cadre-dev/cadre/internal/llm"
	"github.com/cadre-dev/cadre/internal/llm/wire/wiretest"
)

// TestOracle compares with what Anthropic's own SDK reads from the same bytes; the
// module oracle wrote it down.
func TestOracle(t *testing.T) {
	t.Parallel()
	wiretest.Oracle(t, func(v *wiretest.Vendor, whole bool) llm.Provider {
		return New(Options{BaseURL: v.URL, Key: wiretest.Key, HTTP: v.Client(), Whole: whole})
	})
}
