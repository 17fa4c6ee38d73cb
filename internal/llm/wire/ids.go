// Ids that vendors take: for their caches, and for calls.

package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// maxCacheKey is the longest key that OpenAI takes.
const maxCacheKey = 64

// CacheKey makes of a chat's id a key for a vendor's prompt cache, always the
// same one.
func CacheKey(chat string) string {
	if len(chat) <= maxCacheKey {
		return chat
	}
	sum := sha256.Sum256([]byte(chat))
	return hex.EncodeToString(sum[:])
}

// HashID makes n letters and digits of id, always the same ones. It stands for
// an id of another vendor that is too long or has letters that are refused.
func HashID(id string, n int) string {
	const alphabet = "0123456789abcdefghijklmnopqrstuv"
	out := make([]byte, 0, n)
	for i := 0; len(out) < n; i++ {
		for _, c := range sha256.Sum256([]byte(strconv.Itoa(i) + id)) {
			if len(out) < n {
				out = append(out, alphabet[c%32])
			}
		}
	}
	return string(out)
}
