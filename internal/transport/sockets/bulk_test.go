//go:build linux

package sockets_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
)

// TestBulk counts in how many parts a session is fed what waits in the socket, also if it leaves
// a byte each time, as sessions do that are within a record or a frame.
func TestBulk(t *testing.T) {
	const size, most = 512 << 10, 48
	for _, left := range []int{0, 1} {
		t.Run(fmt.Sprintf("%d left", left), func(t *testing.T) {
			eachDriver(t, func(t *testing.T, d driver) {
				var fed, feeds atomic.Int64
				paused := make(chan *scripted, 1)
				addr, _ := script(t, d, transport.Config{}, scripted{feed: func(s *scripted, in []byte, out *buf.Queue) (int, error) {
					n := len(in)
					switch {
					case feeds.Add(1) == 1:
						s.Pause(true)
						paused <- s
					case int(fed.Load())+n < 1+size:
						n -= left
					default:
						out.WriteString("all")
					}
					fed.Add(int64(n))
					return n, nil
				}})
				client := open(t, addr)
				send(t, client, "x")
				s := <-paused
				ended := make(chan error, 1)
				go func() {
					_, err := client.Write([]byte(strings.Repeat("x", size)))
					ended <- err
				}()
				time.Sleep(20 * time.Millisecond) // for some of it to be there
				if !s.Wake(func(*buf.Queue) error { s.Pause(false); return nil }) {
					t.Fatal("the connection is gone")
				}
				want(t, client, "all")
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				if n := feeds.Load() - 1; n > most {
					t.Errorf("%d KiB are fed in %d parts, want %d at most", size>>10, n, most)
				} else {
					t.Logf("%d parts", n)
				}
			})
		})
	}
}
