// Writing: JSON bodies and server-sent events.

package modelserver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// marshal writes v as the vendors do: without escapes for HTML.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("modelserver: encoding a body: " + err.Error()) // only our own types come here
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(marshal(v)) // a client that has gone cannot be told so
}

// events writes server-sent events, each flushed at once. Errors of writing
// mean that the client has gone, which the request's context tells as well.
type events struct {
	w     io.Writer
	flush *http.ResponseController
}

// named writes an event with a name.
func (e *events) named(name string, v any) {
	e.write("event: " + name + "\ndata: " + string(marshal(v)) + "\n\n")
}

// data writes an event without a name.
func (e *events) data(v any) { e.raw(string(marshal(v))) }

// raw writes an event without a name whose data is no JSON.
func (e *events) raw(s string) { e.write("data: " + s + "\n\n") }

func (e *events) write(s string) {
	_, _ = io.WriteString(e.w, s)
	_ = e.flush.Flush()
}
