// The document in the repository, which clients are made of, is the one that is
// served.

package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/cadre-dev/cadre/internal/api"
)

func TestDocumentInRepository(t *testing.T) {
	t.Parallel()
	want, err := api.Document()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, want) {
		t.Error("openapi.json is not what the code says: run `make types`")
	}
	stamp, err := os.ReadFile("../../web/src/api/generated/openapi.sha256")
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(kept); strings.TrimSpace(string(stamp)) != hex.EncodeToString(sum[:]) {
		t.Error("the web app's types were made of another document: run `make types`")
	}
	w := newWorld(t)
	var served bytes.Buffer
	w.ok(json.Indent(&served, w.raw("", http.MethodGet, "/openapi.json", nil).body, "", "  "))
	if got := append(served.Bytes(), '\n'); !bytes.Equal(got, want) {
		t.Error("the server serves another document than openapi.json")
	}
}
