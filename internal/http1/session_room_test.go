package http1

import (
	"bytes"
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// TestPipelinedRoom has a client pipeline and take nothing: what waits for it is no more
// than HighWater and the one answer that went beyond it, also when something has waited
// before.
func TestPipelinedRoom(t *testing.T) {
	body := bytes.Repeat([]byte("x"), 40<<10)
	for _, before := range []int{0, 1} {
		m := newMem(t, pathHandler{"large": func(x *exchange.Exchange) { x.Static = body }})
		m.stuck = true
		m.send(strings.Repeat(req("GET", "/large", ""), before), strings.Repeat(req("GET", "/large", ""), 10))
		if n, most := m.pending.Len(), 64<<10+len(body)+1000; n > most {
			t.Errorf("%d answers before: %d bytes wait, at most %d may", before, n, most)
		}
	}
}
