package request

import (
	"io"
	"maps"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
)

// chunked returns an answer with this chunk.
func chunked(chunk string) string {
	return head200 + "Transfer-Encoding: chunked\r\n\r\n" + chunk + "\r\n0\r\n\r\n"
}

// misbehaviours are server errors on one request in three.
var misbehaviours = []struct {
	name    string
	do      func(c *net.TCPConn) bool
	kind    string // empty: no error
	post    bool   // with requests that may not be sent again
	timeout time.Duration
}{
	{name: "good", do: func(c *net.TCPConn) bool { return say(c, goodAnswer) }},
	{name: "two writes", do: func(c *net.TCPConn) bool { return say(c, goodAnswer[:20]) && say(c, goodAnswer[20:]) }},
	{name: "chunked with extensions", do: func(c *net.TCPConn) bool { return say(c, chunked("5;a=b\r\nhello")) }},
	{name: "interim first", do: func(c *net.TCPConn) bool { return say(c, "HTTP/1.1 100 Continue\r\n\r\n"+goodAnswer) }},
	{name: "orderly close", do: func(c *net.TCPConn) bool {
		return say(c, strings.Replace(goodAnswer, "\r\n", "\r\nConnection: close\r\n", 1)) && false
	}},
	{name: "announced close, left to the client", do: func(c *net.TCPConn) bool {
		return say(c, strings.Replace(goodAnswer, "\r\n", "\r\nConnection: close\r\n", 1))
	}},
	{name: "body until close", do: func(c *net.TCPConn) bool { return say(c, "HTTP/1.0 200 OK\r\n\r\nhello") && false }},
	{name: "reset", kind: spec.ErrReset, post: true, do: func(c *net.TCPConn) bool { return c.SetLinger(0) != nil }},
	{name: "close between", kind: spec.ErrClosed, post: true, do: func(*net.TCPConn) bool { return false }},
	{name: "close within a head", kind: spec.ErrShort, do: func(c *net.TCPConn) bool { return say(c, goodAnswer[:20]) && false }},
	{name: "close within a body", kind: spec.ErrShort, do: func(c *net.TCPConn) bool { return say(c, goodAnswer[:len(goodAnswer)-1]) && false }},
	{name: "close within a chunk", kind: spec.ErrShort, do: func(c *net.TCPConn) bool { return say(c, chunked("5\r\nhello")[:50]) && false }},
	{name: "status", kind: spec.ErrStatus, do: func(c *net.TCPConn) bool { return say(c, "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno") }},
	{name: "length", kind: spec.ErrLength, do: func(c *net.TCPConn) bool { return say(c, head200+"Content-Length: 4\r\n\r\nhell") }},
	{name: "body", kind: spec.ErrBody, do: func(c *net.TCPConn) bool { return say(c, head200+"Content-Length: 5\r\n\r\nHELLO") }},
	{name: "chunked body", kind: spec.ErrBody, do: func(c *net.TCPConn) bool { return say(c, chunked("5\r\nHELLO")) }},
	{name: "garbage", kind: spec.ErrMalformed, do: func(c *net.TCPConn) bool { return say(c, "SSH-2.0-OpenSSH_9.9\r\n") }},
	{name: "endless head", kind: spec.ErrHeader, do: func(c *net.TCPConn) bool {
		say(c, head200)
		for say(c, strings.Repeat("X: y\r\n", 1000)) {
		}
		return false
	}},
	{name: "endless trailers", kind: spec.ErrHeader, do: func(c *net.TCPConn) bool {
		say(c, strings.TrimSuffix(chunked("5\r\nhello"), "\r\n"))
		for say(c, strings.Repeat("X: y\r\n", 1000)) {
		}
		return false
	}},
	{name: "endless body", kind: spec.ErrEndless, do: func(c *net.TCPConn) bool {
		say(c, head200+"\r\n")
		for say(c, strings.Repeat("x", 10_000)) {
		}
		return false
	}},
	{name: "endless chunks", kind: spec.ErrEndless, do: func(c *net.TCPConn) bool {
		say(c, head200+"Transfer-Encoding: chunked\r\n\r\n")
		for say(c, "3e8\r\n"+strings.Repeat("x", 1000)+"\r\n") {
		}
		return false
	}},
	{name: "endless interim answers", kind: spec.ErrTimeout, timeout: 1500 * time.Millisecond, do: func(c *net.TCPConn) bool {
		for say(c, strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100)) {
			time.Sleep(time.Millisecond) // what it sends is not needed: leave the machine to the others
		}
		return false
	}},
	{name: "chunk size", kind: spec.ErrChunk, do: func(c *net.TCPConn) bool { return say(c, chunked("5x\r\nhello")) }},
	{name: "chunk longer than it says", kind: spec.ErrChunk, do: func(c *net.TCPConn) bool { return say(c, chunked("4\r\nhello")) }},
	{name: "chunks after a length", kind: spec.ErrMalformed, do: func(c *net.TCPConn) bool {
		return say(c, strings.Replace(chunked("5\r\nhello"), "\r\n", "\r\nContent-Length: 5\r\n", 1))
	}},
	{name: "length too small", kind: spec.ErrUnasked, do: func(c *net.TCPConn) bool { return say(c, goodAnswer+", world") }},
	{name: "length too large", kind: spec.ErrShort, do: func(c *net.TCPConn) bool {
		return say(c, head200+"Content-Length: 1000\r\n\r\nhello") && false
	}},
	{name: "unasked", kind: spec.ErrUnasked, do: func(c *net.TCPConn) bool { return say(c, goodAnswer+goodAnswer) }},
	{name: "stall", kind: spec.ErrTimeout, timeout: 1500 * time.Millisecond, do: func(c *net.TCPConn) bool {
		_, err := io.Copy(io.Discard, c) // until the client gives up
		return err != nil && false
	}},
}

// Each case answers two requests well and then makes the error of its name; the resulting
// errors are counted under one name, and the run continues.
func TestServersThatMisbehave(t *testing.T) {
	for _, tc := range misbehaviours {
		t.Run(tc.name, func(t *testing.T) {
			if tc.timeout > 0 { // Two loops at once leave no CPU for the servers.
				t.Parallel()
			}
			var good, bad atomic.Uint64
			s := serveScript(t, func(c *net.TCPConn, n int) bool {
				if n%3 == 0 {
					bad.Add(1)
					return tc.do(c)
				}
				good.Add(1)
				return say(c, goodAnswer)
			})
			order := testSpec(s.addr)
			if tc.timeout > 0 {
				order.Timeout, order.Persist = tc.timeout, true
			}
			if tc.post {
				order.Request = []byte(postRequest)
			}
			enough := uint64(30)
			if tc.timeout > 0 {
				enough = 6 // each stall is waited for
			}
			l := drive(t, order, func(c *tally.Counters) bool {
				return c.Requests >= enough && (tc.kind == "" || c.Failures() >= 3)
			})
			got, want := errorsOf(&l.rec.Counters), map[string]uint64{}
			right, wrong := good.Load(), bad.Load()
			seen, late := right+wrong, uint64(0)
			if tc.kind != "" {
				want[tc.kind] = wrong
			}
			if tc.timeout > 0 && got[tc.kind] > wrong { // good answers were late: the machine is slow
				late = got[tc.kind] - wrong
				want[tc.kind] += late
			}
			if !maps.Equal(got, want) {
				t.Errorf("errors %v, want %v", got, want)
			}
			// The server may never see a request that was given up.
			unseen := l.rec.Sent - seen
			if l.rec.Sent < seen || unseen > late {
				t.Fatalf("%d requests sent, the server saw %d, %d were late", l.rec.Sent, seen, late)
			}
			right -= late - unseen
			if tc.kind == "" || tc.kind == spec.ErrUnasked {
				right += wrong // the answer itself was good
			}
			if l.rec.Requests != right {
				t.Errorf("%d right answers, the server gave %d", l.rec.Requests, right)
			}
		})
	}
}
