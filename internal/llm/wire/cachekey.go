// What routes the requests of one chat to one cache.

package wire

import (
	"crypto/sha256"
	"encoding/hex"
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
