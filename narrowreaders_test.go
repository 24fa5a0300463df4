//go:build unix

package redline_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// narrowly makes a connection whose client offers a window of about a kilobyte.
func narrowly(_, _ string, rc syscall.RawConn) (err error) {
	if e := rc.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) }); e != nil {
		return e
	}
	return err
}

// busy keeps all CPUs busy in other processes for the time of a test.
func busy(t *testing.T) {
	t.Helper()
	for range 2 * runtime.NumCPU() {
		c := exec.Command("sh", "-c", "while :; do :; done")
		noError(t, c.Start())
		t.Cleanup(func() {
			noError(t, c.Process.Kill())
			_ = c.Wait() // it was killed
		})
	}
}

const (
	narrowReaders = 60
	narrowSize    = 1 << 20   // of what each of them asks for
	narrowMost    = 128 << 10 // that is sent to each; sockets accept half a megabyte
)

// narrowWorst has readers come that take nothing, and returns the worst time of a quick request
// meanwhile.
func narrowWorst(t *testing.T, dial func(d net.Dialer) (net.Conn, error)) (worst time.Duration) {
	t.Helper()
	for range narrowReaders {
		c, err := dial(net.Dialer{Control: narrowly})
		noError(t, err)
		t.Cleanup(func() { c.Close() })
		_, err = fmt.Fprintf(c, get, "/large")
		noError(t, err)
	}
	for range 20 {
		began := time.Now()
		c, err := dial(net.Dialer{})
		noError(t, err)
		noError(t, c.SetDeadline(began.Add(patience)))
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		noError(t, err)
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		c.Close()
		worst = max(worst, time.Since(began))
	}
	return worst
}

// TestNarrowReaders has many clients ask for large answers in tiny windows and read nothing, while
// other processes want the CPUs. The kernel is not made to cut megabytes into tiny segments for them,
// and others are served about as they are by net/http.
func TestNarrowReaders(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), narrowSize/16)
	busy(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := []byte("quick")
		if r.URL.Path == "/large" {
			answer = body
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		_, _ = w.Write(answer) // the client goes, or notices
	})}
	go s.Serve(l)
	theirs := narrowWorst(t, func(d net.Dialer) (net.Conn, error) { return d.Dial("tcp", l.Addr().String()) })
	noError(t, s.Close())
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Loops: 2, Native: func(c *redline.Ctx) {
			if c.Path() == "/large" {
				noError(t, c.BytesNoCopy(200, "text/plain", body))
				return
			}
			c.Text(200, "quick")
		}})
		ours := narrowWorst(t, func(d net.Dialer) (net.Conn, error) {
			c, err := d.Dial("tcp", r.addr.String())
			if err != nil || !r.secure {
				return c, err
			}
			return handshake(c)
		})
		until(t, "large answers are on their way", func() bool { return r.Stats().BytesOut > narrowReaders*8<<10 })
		if n := r.Stats().BytesOut; n > narrowReaders*narrowMost {
			t.Errorf("%d KiB have been sent for each reader that takes nothing, want %d at most", n/narrowReaders>>10, narrowMost>>10)
		}
		t.Logf("a quick request takes at most %v, net/http's %v", ours, theirs)
		if ours > 10*theirs+time.Second {
			t.Errorf("a quick request takes %v, net/http's %v", ours, theirs)
		}
	})
}
