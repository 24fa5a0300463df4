package redline_test

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redline-go/redline"
)

// A stuckTurn is a Subscriber whose turns do not return.
type stuckTurn struct{ gate *gate }

func (s stuckTurn) Turn(*redline.Turn) { s.gate.pass() }
func (s stuckTurn) Gone(error)         {}

// letters is a segment of its own for each number, and no identifier.
func letters(i int) string {
	return strings.Map(func(r rune) rune { return 'a' + r - '0' }, strings.Repeat(string(rune('0'+i%10)), i/10+1))
}

// hangs are calls that do not return.
var hangs = []struct {
	name    string
	http2   bool
	paths   func(i int) []string // that the client with a number asks for at once
	serve   func(s *redline.Server, g *gate)
	learned string // what pattern is known to block after that, if any
}{
	{"a route", false, nil, func(s *redline.Server, g *gate) {
		r := redline.NewRouter()
		r.GET("/hang", func(*redline.Ctx) { g.pass() })
		r.GET("/quick", text("quick"))
		s.Native = r.Serve
	}, "/hang"},
	{"a route over HTTP/2", true, nil, func(s *redline.Server, g *gate) {
		r := redline.NewRouter()
		r.GET("/hang", func(*redline.Ctx) { g.pass() })
		r.GET("/quick", text("quick"))
		inClear(s).Native = r.Serve
	}, "/hang"},
	{"a shape", false, nil, hangingMux, "/hang"},
	{"a shape over HTTP/2", true, nil, func(s *redline.Server, g *gate) { hangingMux(inClear(s), g) }, "/hang"},
	{"many shapes", false, func(i int) []string { return []string{"/hang/" + letters(i)} }, hangingMux, ""},
	{"unlike shapes", false, func(i int) []string { return []string{"/hang/" + letters(i) + "/x"} }, hangingMux, ""},
	{"behind another request", false, func(int) []string { return []string{"/quick", "/hang"} }, hangingMux, ""},
	{"before the router", false, nil, func(s *redline.Server, g *gate) {
		s.Native = func(c *redline.Ctx) {
			if c.Path() == "/hang" {
				g.pass()
			}
			c.Text(200, "quick")
		}
	}, ""},
	{"turns", false, nil, func(s *redline.Server, g *gate) {
		r := redline.NewRouter()
		r.GET("/hang", func(c *redline.Ctx) { c.Subscribe(stuckTurn{g}) })
		r.GET("/quick", text("quick"))
		s.Native = r.Serve
	}, ""},
	{"hooks", false, nil, func(s *redline.Server, g *gate) {
		var first atomic.Bool // that of the quick client
		s.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew && first.Swap(true) {
				g.pass()
			}
		}
		s.Native = text("quick")
	}, ""},
}

// TestHang has many calls that do not return, as if a backend had failed. The first few are taken
// over; then they, or those like them, begin off the loop: also calls of which nothing can be
// learned. Other requests are served, and soon hold the loop again.
func TestHang(t *testing.T) {
	const n = 60
	for row, c := range hangs {
		t.Run(c.name, func(t *testing.T) {
			names := slices.DeleteFunc(append(slices.Clone(transports()), overTLS), func(name redline.Transport) bool {
				return name == redline.TransportStd // there is no loop
			})
			if len(names) > 1 && !*full {
				names = names[row%len(names):][:1]
			}
			onThese(t, names, func(t *testing.T, transport redline.Transport) {
				g, s := newGate(), &redline.Server{Transport: transport}
				c.serve(s, g)
				r := serve(t, s)
				quick := r.dial()
				quick.want("/quick", "quick")
				for i := range n {
					if c.http2 {
						client := http2Client(t)
						go func() {
							if resp, err := client.Get(r.url() + "/hang"); err == nil {
								resp.Body.Close()
							}
						}()
						continue
					}
					paths := []string{"/hang"}
					if c.paths != nil {
						paths = c.paths(i)
					}
					r.dial().ask(paths...)
				}
				g.await(t, n)
				if taken := r.Stats().Takeovers; taken > n/2 {
					t.Errorf("%d takeovers for %d calls", taken, n)
				}
				if c.learned != "" && !r.routeOf(c.learned).Blocking {
					t.Errorf("%s is not known to block", c.learned)
				}
				until(t, "a quick request holds the loop", func() bool {
					before := r.Stats()
					quick.want("/quick", "quick")
					after := r.Stats()
					return after.Spared == before.Spared && after.Detached == before.Detached && after.Stayed == before.Stayed
				})
				close(g.open)
			})
		})
	}
}

// hangingMux serves paths that hang and one that does not.
func hangingMux(s *redline.Server, g *gate) {
	mux := http.NewServeMux()
	mux.HandleFunc("/hang", func(http.ResponseWriter, *http.Request) { g.pass() })
	mux.HandleFunc("/hang/", func(http.ResponseWriter, *http.Request) { g.pass() })
	mux.HandleFunc("/quick", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "quick") })
	s.Handler = mux
}
