// Upper and lower case: a keyword is found in whatever case it stands.

package search

import (
	"bytes"
	"unicode"
)

// fold gives b in lower case, so that two texts are the same in whatever case
// if they are the same folded. It may give back b itself.
func fold(b []byte) []byte {
	ascii, upper := true, false
	for _, c := range b {
		ascii = ascii && c < 0x80
		upper = upper || 'A' <= c && c <= 'Z'
	}
	switch {
	case !ascii:
		return bytes.Map(foldRune, b)
	case upper:
		return bytes.ToLower(b)
	}
	return b
}

// foldRune never joins what ripgrep keeps apart: the capital I with a dot, of
// which Go makes an i, is a letter of its own there.
func foldRune(r rune) rune {
	if r == 'İ' {
		return r
	}
	return unicode.ToLower(r)
}
