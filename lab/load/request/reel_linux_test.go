package request

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// TestMoreRequestsComeInTurn checks that each connection sends all requests in turn,
// from its own position, across batches, in a closed loop and an open one.
func TestMoreRequestsComeInTurn(t *testing.T) {
	const requests = 7
	for _, test := range []struct {
		pipeline int
		open     bool
	}{{1, false}, {4, false}, {16, false}, {1, true}} {
		t.Run(fmt.Sprintf("%d, open %v", test.pipeline, test.open), func(t *testing.T) {
			var mu sync.Mutex
			var seen [][]string
			s := serve(t, func(_ *scripted, c *net.TCPConn) {
				br := bufio.NewReader(c)
				mu.Lock()
				own := len(seen)
				seen = append(seen, nil)
				mu.Unlock()
				for {
					req, err := http.ReadRequest(br)
					if err != nil {
						return
					}
					mu.Lock()
					seen[own] = append(seen[own], req.URL.RawQuery+" "+req.UserAgent())
					mu.Unlock()
					if !say(c, goodAnswer) {
						return
					}
				}
			})
			order := testSpec(s.addr)
			order.Pipeline = test.pipeline
			var names []string
			for i := range requests {
				agent := strings.Repeat("x", i+1)
				text := fmt.Sprintf("GET /?id=%d HTTP/1.1\r\nHost: a\r\nUser-Agent: %s\r\n\r\n", i, agent)
				names = append(names, fmt.Sprintf("id=%d %s", i, agent))
				if i == 0 {
					order.Request = []byte(text)
				} else {
					order.More = append(order.More, []byte(text))
				}
			}
			if test.open {
				order.Arrivals = &arrive.Plan{Rate: 2000, Poisson: true, Seed: 1}
			}
			l := drive(t, order, func(c *tally.Counters) bool { return c.Answered > 200 })
			if n := l.rec.Failures(); n > 0 {
				t.Errorf("%d errors, the last: %v", n, l.cause)
			}
			mu.Lock()
			defer mu.Unlock()
			begins := map[string]bool{}
			for _, asked := range seen {
				if len(asked) == 0 {
					continue
				}
				begins[asked[0]] = true
				first := slices.Index(names, asked[0])
				for i, name := range asked {
					if want := names[(first+i)%requests]; name != want {
						t.Fatalf("request %d of a connection is %q, want %q", i, name, want)
					}
				}
			}
			if len(begins) != order.Connections {
				t.Errorf("%d connections begin with %v", order.Connections, begins)
			}
		})
	}
}

func TestMoreRequestsAreChecked(t *testing.T) {
	for name, change := range map[string]func(*spec.Spec){
		"an empty one": func(s *spec.Spec) { s.More = [][]byte{nil} },
		"a scenario":   func(s *spec.Spec) { s.Request, s.Scenario = nil, &spec.Scenario{} },
		"HTTP/2":       func(s *spec.Spec) { s.HTTP2, s.Streams = true, 1 },
	} {
		order := testSpec("127.0.0.1:1")
		order.More = [][]byte{[]byte(getRequest)}
		if err := order.Validate(); err != nil {
			t.Error(err)
		}
		if change(order); order.Validate() == nil {
			t.Errorf("more requests with %s are taken", name)
		}
	}
}
