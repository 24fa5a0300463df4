package redline_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// A nativeStep and a mountedStep are actions of handlers in generated sequences. They note
// what they see.
type (
	nativeStep  func(c *redline.Ctx, n *notes)
	mountedStep func(w http.ResponseWriter, r *http.Request, n *notes)
)

var (
	nativeSteps = []nativeStep{
		func(c *redline.Ctx, n *notes) { n.add(io.CopyN(io.Discard, c.Body(), 3)) },
		func(c *redline.Ctx, n *notes) { n.add(io.Copy(io.Discard, c.Body())) },
		func(c *redline.Ctx, n *notes) { n.add(c.Write(make([]byte, 10))) },
		func(c *redline.Ctx, n *notes) { n.add(c.Write(make([]byte, 1<<20))) },
		func(c *redline.Ctx, n *notes) { n.add("flush", c.Flush()) },
		func(c *redline.Ctx, n *notes) { n.add("inform", c.Inform(103)) },
		func(c *redline.Ctx, n *notes) { n.add("set", c.SetHeader("X-A", "native")) },
		func(c *redline.Ctx, n *notes) { n.add("context", c.Context().Err()) },
	}
	mountedSteps = []mountedStep{
		func(_ http.ResponseWriter, r *http.Request, n *notes) { n.add(io.CopyN(io.Discard, r.Body, 3)) },
		func(_ http.ResponseWriter, r *http.Request, n *notes) {
			k, err := io.Copy(io.Discard, r.Body)
			n.add(k, err)
			n.alone(func() { n.add(r.Trailer) })
		},
		func(w http.ResponseWriter, _ *http.Request, n *notes) { n.add(w.Write(make([]byte, 10))) },
		func(w http.ResponseWriter, _ *http.Request, n *notes) {
			n.add(io.WriteString(w, strings.Repeat("x", 300<<10)))
		},
		func(w http.ResponseWriter, _ *http.Request, _ *notes) { w.(http.Flusher).Flush() },
		func(w http.ResponseWriter, _ *http.Request, _ *notes) { w.WriteHeader(103) },
		func(w http.ResponseWriter, _ *http.Request, _ *notes) { w.WriteHeader(404) },
		func(w http.ResponseWriter, _ *http.Request, n *notes) {
			n.alone(func() { w.Header()["Content-Length"] = nil })
		},
		func(w http.ResponseWriter, _ *http.Request, n *notes) {
			n.alone(func() { w.Header().Set(http.TrailerPrefix+"X-T", "1") })
		},
		func(w http.ResponseWriter, r *http.Request, n *notes) {
			n.loose()
			go func() { _, _ = io.Copy(w, r.Body) }()
		},
		func(w http.ResponseWriter, _ *http.Request, n *notes) {
			n.loose()
			go func() { _, _ = w.Write(make([]byte, 300<<10)) }()
		},
		func(_ http.ResponseWriter, r *http.Request, n *notes) { n.add("context", r.Context().Err()) },
		func(http.ResponseWriter, *http.Request, *notes) { panic("made up") },
		func(http.ResponseWriter, *http.Request, *notes) { panic(http.ErrAbortHandler) },
		func(w http.ResponseWriter, _ *http.Request, n *notes) {
			n.loose()
			if c, _, err := w.(http.Hijacker).Hijack(); err == nil {
				c.Close()
			}
		},
		func(http.ResponseWriter, *http.Request, *notes) { runtime.Goexit() },
	}
)

// messages are what clients send: heads and contents that frame each other, or do
// not.
var messages = []string{
	"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
	"GET / HTTP/1.0\r\n\r\n",
	"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50\r\n\r\nhello",
	"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
	refusedByMount,
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: Transfer-Encoding, Trailer\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\nExpect: 100-continue\r\n\r\n",
	"5\r\nhello\r\n", "0\r\n\r\n", "0\r\nX-T: 1\r\n\r\n", "0\r\nContent-Length: 5\r\n\r\n", "zz\r\n", "hello", "\r\n",
}

// madeUp is a native handler that does what a program says: a byte is one step, or
// begins an http.Handler that does the next ones, up to a zero. What it sees becomes a page of
// the book, which may be nil.
func madeUp(program []byte, b *book) redline.HandlerFunc {
	const mounts = 0x80
	return func(c *redline.Ctx) {
		n := b.page(c)
		defer n.close()
		for p := program; len(p) > 0; {
			step := p[0]
			p = p[1:]
			if step < mounts {
				nativeSteps[int(step)%len(nativeSteps)](c, n)
				continue
			}
			inner, rest, _ := strings.Cut(string(p), "\x00")
			p = []byte(rest)
			func() {
				if step%2 == 0 { // as middleware that recovers does
					defer func() { _ = recover() }()
				}
				redline.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					n.request(r)
					for _, b := range []byte(inner) {
						mountedSteps[int(b)%len(mountedSteps)](w, r, n)
					}
				}))(c)
			}()
		}
	}
}

// playMadeUp plays a program to a client that sends messages and the end of its
// half, and reads all there is. The connection ends, and so does the handler.
func playMadeUp(t *testing.T, transport redline.Transport, program, sent []byte) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	r := serve(t, &redline.Server{Transport: transport, Native: madeUp(program, nil), Logger: quiet, ErrorLog: log.New(io.Discard, "", 0)})
	c := r.dial()
	go func() {
		for _, m := range sent {
			// The server may have closed already.
			_, _ = io.WriteString(c.Conn, messages[int(m)%len(messages)])
			time.Sleep(200 * time.Microsecond) // so that handlers wait for the next, most likely
		}
		_ = c.tcp().CloseWrite()
	}()
	if _, err := io.Copy(io.Discard, c.r); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection does not end: program %x, messages %x", program, sent)
	}
	c.Close()
	until(t, fmt.Sprintf("connections have ended: program %x, messages %x", program, sent), func() bool { return r.Stats().Open == 0 })
}

// TestMountedMadeUp plays sequences of native and mounted handlers, always the same, each to one
// transport.
func TestMountedMadeUp(t *testing.T) {
	onAll(t, func(t *testing.T, transport redline.Transport) {
		rnd := rand.New(rand.NewPCG(1, 2))
		sequences := 60
		if *full {
			sequences = 600
		}
		for n := range sequences {
			program, sent := make([]byte, 1+rnd.IntN(12)), make([]byte, 1+rnd.IntN(5))
			for _, b := range [][]byte{program, sent} {
				for i := range b {
					b[i] = byte(rnd.Uint32())
				}
			}
			switch n % 3 {
			case 1: // chance rarely begins with what takes a part of the content
				program[0] = 0x80
			case 2:
				program, sent = append([]byte{0x80, byte(n), 0}, program...), append([]byte{byte(6 + n%4)}, sent...)
			}
			if turn(transport, n) {
				playMadeUp(t, transport, program, sent)
				compareMadeUp(t, transport, program, sent)
			}
		}
	})
}

// FuzzMounted plays any sequence.
func FuzzMounted(f *testing.F) {
	f.Add([]byte{0x80, 0, 0, 3}, []byte{7, 10, 11})
	f.Add([]byte{0x80, 12, 0, 1, 3}, []byte{3, 0})
	f.Add([]byte{6, 0x80, 5, 0, 4}, []byte{0, 0, 0})
	f.Add([]byte{0x80, 9, 10, 13, 0, 1}, []byte{6, 10, 11})
	f.Add([]byte{0x81, 15}, []byte{0})
	f.Add([]byte("Z#\x00Z#\xb7C"), []byte("#\x00Z"))
	f.Add([]byte("\xf3\xf3\xf3\xf3\xf3\xf3\x81\x0f"), []byte("E\x19U\xff_\xc8\xc8\x00"))
	f.Add([]byte("&\x80\x05\x00$"), []byte("\x00\xa7\xa7\xa5"))
	f.Add([]byte("\x97s\xff$\xaf"), []byte("7"))
	f.Add([]byte("\x809"), []byte("11)0"))
	f.Add([]byte("b\x80\xb7#ZC"), []byte("#8b"))
	f.Fuzz(func(t *testing.T, program, sent []byte) {
		if len(program) > 40 || len(sent) > 10 {
			return // longer than anything new could need
		}
		for _, transport := range transports() {
			playMadeUp(t, transport, program, sent)
			compareMadeUp(t, transport, program, sent)
		}
	})
}
