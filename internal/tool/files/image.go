// Images for Read: recognised by content, and only such as every provider
// takes. A broken or oversized image in a history would fail each later
// request with it, so it is refused here.

package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // for image.DecodeConfig
	_ "image/jpeg"
	_ "image/png"
	"io"
	"net/http"

	"github.com/cadre-dev/cadre/internal/message"
	"github.com/cadre-dev/cadre/internal/tool"
)

const (
	maxImage     = 5_000_000 // bytes
	maxImageSide = 8000      // pixels
)

func imageType(head []byte) (string, bool) {
	switch kind := http.DetectContentType(head); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kind, true
	}
	return "", false
}

func readImage(r io.Reader, name, kind string, size int64) (tool.Result, error) {
	tooLarge := fmt.Errorf("%s is an image (%s, %s); at most %s can be shown", shown(name), kind, bytesText(size), bytesText(maxImage))
	if size > maxImage {
		return tool.Result{}, tooLarge
	}
	data, err := io.ReadAll(io.LimitReader(r, maxImage+1))
	if err != nil {
		return tool.Result{}, fmt.Errorf("reading %s: %w", shown(name), err)
	}
	if len(data) > maxImage { // it grew since its size was asked
		return tool.Result{}, tooLarge
	}
	width, height, err := imageSides(data, kind)
	if err != nil {
		return tool.Result{}, fmt.Errorf("%s (%s, %s) is not a valid image: %w", shown(name), kind, bytesText(size), err)
	}
	if max(width, height) > maxImageSide {
		return tool.Result{}, fmt.Errorf("%s is an image of %d×%d pixels; at most %d a side can be shown", shown(name), width, height, maxImageSide)
	}
	return tool.Result{Parts: []message.Part{
		message.TextPart{Text: fmt.Sprintf("%s: %s, %d×%d pixels, %s", shown(name), kind, width, height, bytesText(int64(len(data))))},
		message.ImagePart{MediaType: kind, Data: data},
	}}, nil
}

func imageSides(data []byte, kind string) (width, height int, err error) {
	if kind == "image/webp" {
		return webpSides(data)
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	return c.Width, c.Height, err
}

// webpSides reads the header of a WebP file, for which the standard library
// has no decoder: a RIFF container whose first chunk tells the size.
func webpSides(data []byte) (width, height int, err error) {
	const header = 30 // up to the end of the sizes, in each of the three forms
	if len(data) < header {
		return 0, 0, io.ErrUnexpectedEOF
	}
	if int64(binary.LittleEndian.Uint32(data[4:]))+8 > int64(len(data)) {
		return 0, 0, errors.New("it is shorter than its header says")
	}
	switch string(data[12:16]) {
	case "VP8 ":
		if !bytes.Equal(data[23:26], []byte{0x9d, 0x01, 0x2a}) {
			return 0, 0, errors.New("it has no start code")
		}
		return int(binary.LittleEndian.Uint16(data[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(data[28:]) & 0x3fff), nil
	case "VP8L":
		if data[20] != 0x2f {
			return 0, 0, errors.New("it has no start code")
		}
		bits := binary.LittleEndian.Uint32(data[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, nil
	case "VP8X":
		return int(uint24(data[24:])) + 1, int(uint24(data[27:])) + 1, nil
	}
	return 0, 0, fmt.Errorf("unknown first chunk %q", data[12:16])
}

func uint24(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }
