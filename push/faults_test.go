package push_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// dial opens a raw connection that has received the head of a stream.
func dial(t *testing.T, at, topic string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /?topic=%s&format=ndjson HTTP/1.1\r\nHost: x\r\n\r\n", topic)
	r := bufio.NewReaderSize(conn, 512)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", resp, err)
	}
	return conn, r
}

// TestStalled has clients that read nothing beside others: one of 200, and 180 of 200. The
// others get every event; what the first do not get is counted.
func TestStalled(t *testing.T) {
	const clients, events, size = 200, 60, 16 << 10
	for _, stalled := range []int{1, 180} {
		t.Run(fmt.Sprint(stalled), func(t *testing.T) {
			// The quick ones may fall behind on a slow machine: they have room for everything.
			hub := pushtest.Hub(t, push.Options{
				QueueBytes: 1 << 30, MaxBytes: 64 << 20,
				Rules: []push.Rule{{Pattern: "**", History: push.History{Events: 10}}},
			})
			at := serve(t, &redline.Server{Native: hub.Handler(nil).Serve})
			var reading sync.WaitGroup
			for i := range clients {
				conn, r := dial(t, at, "t")
				if i < stalled {
					continue
				}
				reading.Go(func() {
					if n := count(r, events); n != events {
						t.Errorf("%d events, want %d", n, events)
					}
					conn.Close()
				})
			}
			data := strings.Repeat("x", size)
			for range events {
				pushtest.Publish(t, hub, "t", data)
			}
			reading.Wait()
			st := hub.Stats()
			if st.Bytes > 64<<20 {
				t.Errorf("%d bytes", st.Bytes)
			}
			if st.Dropped != 0 || st.Endings["memory"] != 0 {
				t.Errorf("got %+v", st)
			}
		})
	}
}

// count reads events of NDJSON in chunks until it has seen so many, or the end.
func count(r *bufio.Reader, most int) (n int) {
	for n < most {
		part, err := r.ReadSlice('\n')
		if bytes.HasSuffix(part, []byte("}\n")) {
			n++
		}
		if err != nil && err != bufio.ErrBufferFull {
			return n
		}
	}
	return n
}

// TestTogether has many clients leave at once, and come back at once to a hub that has begun
// anew: all learn about the gap.
func TestTogether(t *testing.T) {
	clients := 200 * push.Scale()
	hub := pushtest.Hub(t, push.Options{})
	at := serve(t, &redline.Server{Native: hub.Handler(nil).Serve})
	files := openFiles()
	var conns []net.Conn
	for range clients {
		conn, _ := dial(t, at, "t")
		conns = append(conns, conn)
	}
	pushtest.Until(t, "all are there", func() bool { return hub.Stats().Subscribers == clients })
	last := pushtest.Publish(t, hub, "t", "x").ID
	for _, c := range conns {
		c.Close()
	}
	pushtest.Until(t, "all have left", func() bool { return hub.Stats().Subscribers == 0 })
	pushtest.Until(t, "their descriptors are closed", func() bool { return openFiles() <= files+10 })

	next := pushtest.Hub(t, push.Options{})
	at = serve(t, &redline.Server{Native: next.Handler(nil).Serve})
	pushtest.Publish(t, next, "t", "y")
	var coming sync.WaitGroup
	for range 20 {
		coming.Go(func() {
			for range clients / 20 {
				s := pushtest.Open(t, at, pushtest.Query{Topics: []string{"t"}, LastID: last})
				if m := s.Next(); m.Gap == nil || m.Gap.Reason != "epoch" || m.Gap.From != last {
					t.Errorf("got %+v", m)
				}
				s.Want("y")
				s.Close()
			}
		})
	}
	coming.Wait()
	pushtest.Until(t, "all have left", func() bool { return next.Stats().Subscribers == 0 })
	if st := next.Stats(); int(st.Gaps) != clients || int(st.Delivered) != clients {
		t.Errorf("got %+v", st)
	}
}

// openFiles is the number of descriptors of the process, or 0 where that cannot be known.
func openFiles() int {
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
