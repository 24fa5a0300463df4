//go:build !race

// The race detector makes pools forget.

package transporttest

import (
	"io"
	"runtime"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

func init() { walks = append(walks, testCase{"walk/allocations", walkAllocs}) }

// walkAllocs wants a walk to take no memory for each connection, once it has been there.
func walkAllocs(e *env) {
	if e.limits.NoTakeover || e.limits.Secure != nil {
		return // a goroutine each, or records
	}
	const rounds, n = 50, 100
	text := []byte("event\n")
	e.config.Loops = 1
	e.wrap = func(s *session) transport.Session { return sayer{s, text} }
	e.start(hooks{feed: echo})
	clients, by := e.crowd(n)
	b := make([]byte, len(text))
	round := func() {
		for l, list := range by {
			e.walk(l, through(list))
		}
		for _, c := range clients {
			if _, err := io.ReadFull(c.r, b); err != nil {
				e.Fatal(err)
			}
		}
	}
	round()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		round()
	}
	runtime.ReadMemStats(&after)
	if each := float64(after.Mallocs-before.Mallocs) / (rounds * n); each > 0.2 {
		e.Errorf("%.2f allocations for each turn", each)
	}
}

// A sayer is a session whose turns say one text, and take no memory.
type sayer struct {
	*session
	text []byte
}

// Turn implements [transport.Turner].
func (s sayer) Turn(out *buf.Queue) error {
	_, err := out.Write(s.text)
	return err
}
