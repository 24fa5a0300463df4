package push_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// TestStalledClients: MaxBytes bounds the memory of the process, although each client has taken an event
// of its own and reads nothing more. One that reads gets all that is published to it.
func TestStalledClients(t *testing.T) {
	for name, start := range map[string]func(*testing.T, *push.Handler) string{
		"loops": func(t *testing.T, h *push.Handler) string {
			s, l := &redline.Server{Native: h.Serve}, small(t)
			done := make(chan error, 1)
			go func() { done <- s.Serve(l) }()
			t.Cleanup(func() {
				if err := errors.Join(s.Close(), <-done); !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
			})
			return "http://" + l.Addr().String()
		},
		"net/http": func(t *testing.T, h *push.Handler) string {
			s := httptest.NewUnstartedServer(h)
			s.Listener = small(t)
			s.Start()
			t.Cleanup(s.CloseClientConnections)
			return s.URL
		},
	} {
		t.Run(name, func(t *testing.T) {
			const clients, size, most = 80, 1 << 20, 16 << 20
			// The hub looks at its memory again in a 64th of Heartbeat: an event may be encoded after it was published.
			hub := pushtest.Hub(t, push.Options{MaxBytes: most, History: push.History{Events: -1}, Heartbeat: time.Second})
			at := start(t, hub.Handler(nil))
			reads := pushtest.Open(t, at, pushtest.Query{Topics: []string{"read"}})
			for i := range clients {
				stall(t, at, fmt.Sprint("t/", i))
			}
			before := heapNow()
			data := []byte(strings.Repeat("x", size-100))
			for i := range clients {
				if _, err := hub.Publish(context.Background(), push.Event{Topic: fmt.Sprint("t/", i), Data: data}); err != nil {
					t.Fatal(err)
				}
				pushtest.Publish(t, hub, "read", fmt.Sprint(i))
				reads.Want(fmt.Sprint(i))
				pushtest.Until(t, "no more than MaxBytes is held", func() bool { return hub.Stats().Bytes <= most })
			}
			st := hub.Stats()
			if got := heapNow() - before; got > most+clients<<10+16<<20 {
				t.Errorf("the heap has grown by %d bytes, and %d are counted", got, st.Bytes)
			}
			// Each takes its event once: encoded, without the message that it was made from. The last of them may still
			// have both.
			if least := clients - most/size - 1; int(st.Endings["memory"]) < clients-2*most/size || int(st.Endings["memory"]) > least+most/size/2 {
				t.Errorf("%d were ended, and at least %d must be: %+v", st.Endings["memory"], least, st)
			}
		})
	}
}

// small listens for connections whose output the kernel keeps little of.
func small(t *testing.T) net.Listener {
	t.Helper()
	lc := net.ListenConfig{Control: buffer(syscall.SO_SNDBUF)}
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// buffer makes one of the kernel's buffers small.
func buffer(which int) func(_, _ string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, which, 4096)
		}), err)
	}
}

// stall subscribes to a topic by a connection with small buffers, and reads the head alone.
func stall(t *testing.T, url, topic string) {
	t.Helper()
	d := net.Dialer{Control: buffer(syscall.SO_RCVBUF)}
	c, err := d.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "GET /?topic=%s HTTP/1.1\r\nHost: x\r\n\r\n", topic)
	resp, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", resp, err)
	}
}

func heapNow() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
