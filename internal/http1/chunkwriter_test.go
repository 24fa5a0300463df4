package http1

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http/httputil"
	"testing"
)

func TestAppendChunkHead(t *testing.T) {
	for _, size := range []int{1, 9, 10, 15, 16, 17, 255, 256, 4095, 4096, 65535, 1 << 20, math.MaxInt32, math.MaxInt} {
		if got, want := string(AppendChunkHead([]byte("x"), size)), fmt.Sprintf("x%x\r\n", size); got != want {
			t.Errorf("%d: %q, want %q", size, got, want)
		}
	}
	for _, size := range []int{0, -1, math.MinInt} {
		if got := AppendChunkHead(nil, size); len(got) != 0 {
			t.Errorf("%d: %q", size, got)
		}
	}
}

// TestAppendChunks reads back what was written, with the reader of net/http.
func TestAppendChunks(t *testing.T) {
	var wire, want []byte
	for _, size := range []int{1, 15, 16, 17, 1000, 70000} {
		data := bytes.Repeat([]byte{byte(size)}, size)
		wire = append(AppendChunkHead(wire, size), data...)
		wire = AppendChunkTail(wire)
		want = append(want, data...)
	}
	wire = AppendChunkTail(AppendLastChunk(wire))
	got, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(wire)))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(want))
	}
}
