package redline_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// Bounds of what may be in use for one large body beyond what was before, in
// bytes. The buffers themselves are under a megabyte; the rest is allowed for the
// client, which lives in the same process, and for the runtime.
const (
	heapBound = 8 << 20
	rssBound  = 64 << 20 * slower // the race detector keeps a shadow of all memory
)

// A memory watches what the process uses from now on.
type memory struct {
	heap, rss int64 // before
	most      atomic.Int64
	mostRSS   atomic.Int64
}

func watchMemory() *memory {
	runtime.GC()
	heap, rss := inUse()
	return &memory{heap: heap, rss: rss}
}

// sample collects garbage and notes how much is in use.
func (m *memory) sample() {
	runtime.GC()
	heap, rss := inUse()
	for _, v := range []struct {
		most *atomic.Int64
		now  int64
	}{{&m.most, heap - m.heap}, {&m.mostRSS, rss - m.rss}} {
		for old := v.most.Load(); v.now > old && !v.most.CompareAndSwap(old, v.now); old = v.most.Load() {
		}
	}
}

func (m *memory) check(t *testing.T) {
	t.Helper()
	t.Logf("at most %d KiB of heap and %d KiB of RSS more than before", m.most.Load()>>10, m.mostRSS.Load()>>10)
	if n := m.most.Load(); n > heapBound {
		t.Errorf("%d bytes of heap more than before", n)
	}
	if n := m.mostRSS.Load(); n > rssBound {
		t.Errorf("%d bytes of RSS more than before", n)
	}
}

// inUse is the heap in use and the resident set, in bytes; the latter is 0 where
// it cannot be told.
func inUse() (heap, rss int64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		var total int64
		if _, err := fmt.Sscan(string(b), &total, &rss); err != nil {
			return 0, 0
		}
		rss *= int64(os.Getpagesize())
	}
	return int64(m.HeapInuse), rss
}

// TestLargeUpload reads much more than it may keep, now and then slowly, in little memory.
func TestLargeUpload(t *testing.T) {
	size := int64(256 << 20)
	if *full {
		size = 1 << 30
	}
	step := size / 8
	for name, chunked := range map[string]bool{"length": false, "chunked": true} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				m := watchMemory()
				r := serve(t, &redline.Server{Transport: transport, Limits: redline.Limits{MaxBodyBytes: -1}, Native: func(c *redline.Ctx) {
					p := make([]byte, 64<<10)
					var n, next int64
					for {
						k, err := c.Body().Read(p)
						if n += int64(k); n >= next {
							time.Sleep(5 * time.Millisecond) // the client fills what it can
							m.sample()
							next += step
						}
						if err == io.EOF {
							break
						} else if err != nil {
							t.Error(err)
							return
						}
					}
					c.Text(200, fmt.Sprint(n))
				}})
				c := r.dial()
				upload(t, c, int(size), chunked)
				if status, body := c.answer(); status != 200 || body != fmt.Sprint(size) {
					t.Errorf("%d %s, want %d bytes", status, body, size)
				}
				m.check(t)
			})
		})
	}
}

// upload sends a body of so many bytes, which 256 KiB divides.
func upload(t *testing.T, c *client, size int, chunked bool) {
	t.Helper()
	piece := bytes.Repeat([]byte("upload: "), 32<<10)
	if chunked {
		c.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
	} else {
		c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", size)
	}
	for range size / len(piece) {
		b := net.Buffers{piece}
		if chunked {
			b = net.Buffers{fmt.Appendf(nil, "%x\r\n", len(piece)), piece, []byte("\r\n")}
		}
		if _, err := b.WriteTo(c.Conn); err != nil {
			t.Fatal(err)
		}
	}
	if chunked {
		c.send("0\r\n\r\n")
	}
}

// TestLargeResponse writes 256 MiB to a client that reads slowly, in little
// memory, in parts that are copied and in parts that are not.
func TestLargeResponse(t *testing.T) {
	const size, step = 256 << 20 / slower, 32 << 20 / slower
	for name, part := range map[string]int{"copied": 8 << 10, "referred to": 256 << 10} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				m := watchMemory()
				r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
					p := make([]byte, part)
					for n := 0; n < size; n += part {
						// Nothing of the last part may be read any more.
						p[0] = byte(n / part)
						for k := 1; k < part; k *= 2 {
							copy(p[k:], p[:k])
						}
						if _, err := c.Write(p); err != nil {
							t.Error(err)
							return
						}
					}
				}})
				c := r.dial()
				c.ask("/")
				body := c.response().Body
				p := make([]byte, part)
				for n := 0; n < size; n += part {
					if _, err := io.ReadFull(body, p); err != nil {
						t.Fatal(err)
					}
					if got := bytes.Count(p, []byte{byte(n / part)}); got != part {
						t.Fatalf("at %d, %d bytes are not what was written", n, part-got)
					}
					if n%step == 0 {
						time.Sleep(5 * time.Millisecond) // the server fills what it can
						m.sample()
					}
				}
				if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
					t.Errorf("%d bytes too many, %v", len(rest), err)
				}
				m.check(t)
			})
		})
	}
}

// TestWriteToWhoHasLeft ends a handler's wait for a client that has gone.
func TestWriteToWhoHasLeft(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		failed, filled := make(chan error, 1), newGate()
		r := serve(t, &redline.Server{Transport: transport, StallTimeout: -1, Native: func(c *redline.Ctx) {
			p := make([]byte, 16<<10)
			for n := 0; ; n += len(p) {
				if n > 1<<20 {
					filled.waiting.Store(1)
				}
				if _, err := c.Write(p); err != nil {
					failed <- err
					return
				}
			}
		}})
		c := r.dial()
		c.ask("/")
		filled.await(t, 1)
		c.Close()
		if err := receive(t, failed, "Write returns"); !errors.Is(err, redline.ErrGone) {
			t.Errorf("Write returns %v", err)
		}
	})
}
