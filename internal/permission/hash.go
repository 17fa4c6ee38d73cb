// The hash that binds an approval to the action that was shown.

package permission

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/cadre-dev/cadre/internal/tool"
)

// Hash identifies one use of a tool by everything that was shown of it. Texts
// go in with their lengths, byte for byte, so that no two actions share one.
func Hash(name string, a tool.Action) string {
	h := sha256.New()
	number := func(n int) {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], uint64(n))
		_, _ = h.Write(b[:]) // a hash does not fail
	}
	for _, list := range [][]string{
		{name}, {string(a.Class)}, a.Paths, {a.Command}, a.Commands, a.Hosts, {a.Shown}, {a.Digest}, {a.Reason},
	} {
		number(len(list))
		for _, text := range list {
			number(len(text))
			_, _ = h.Write([]byte(text))
		}
	}
	if a.Unconfined { // nothing else, so that older hashes stay the same
		number(1)
	}
	return hex.EncodeToString(h.Sum(nil))
}
