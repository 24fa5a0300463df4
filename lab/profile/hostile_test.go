//go:build !race

// Nothing here is concurrent, and the detector makes it take minutes.

package profile

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// Profiles that would need much memory are refused before they are parsed.
func TestDecodeHostile(t *testing.T) {
	numbers := protowire.AppendBytes(protowire.AppendTag(nil, fieldSampleLocation, protowire.BytesType), bytes.Repeat([]byte{1}, 64<<20))
	for name, data := range map[string][]byte{
		"a bomb of zeros":     packed(t, make([]byte, largestRaw+1)),
		"empty samples":       packed(t, repeated(fieldSample, nil, 8<<20)),
		"empty functions":     packed(t, repeated(fieldFunction, nil, 8<<20)),
		"empty locations":     packed(t, repeated(fieldLocation, nil, 8<<20)),
		"empty lines":         packed(t, repeated(fieldLocation, repeated(fieldLocationLine, nil, 32<<20), 1)),
		"empty strings":       packed(t, repeated(fieldString, nil, 64<<20)),
		"a very deep stack":   packed(t, repeated(fieldSample, numbers, 1)),
		"empty labels":        packed(t, repeated(fieldSample, repeated(fieldSampleLabel, nil, 16<<20), 1)),
		"comments":            packed(t, repeated(fieldComment, make([]byte, 64<<20), 1)),
		"without compression": repeated(fieldSample, nil, 8<<20),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Decode(data)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("%v", err)
			}
			// Reading grows a buffer by steps, whose sum is a small multiple of the limit.
			if used := after.TotalAlloc - before.TotalAlloc; used > 6*largestRaw {
				t.Errorf("%d MiB were allocated", used>>20)
			}
		})
	}
}
