package h2

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// null is a Handler that repeats requests that ended.
type null struct {
	c     *Conn
	r     *Request
	out   []byte
	ended int
	fails int
	bytes int
}

func (*null) Head(int, *Head)        {}
func (n *null) Data(_ int, b []byte) { n.bytes += len(b) }
func (n *null) Fail(int, Error)      { n.fails++ }
func (n *null) End(int) {
	n.ended++
	_, n.out = n.c.AppendRequest(n.out, n.r)
}

// exchange is a server that answers rounds of streams at once, with prepared blocks.
type exchange struct {
	null
	next   uint32
	blocks [][]byte
	turn   int
	in     []byte
}

const streamsAtOnce = 32

// newExchange returns a server whose heads have constant fields and, if varies, one that is
// inserted into the table with another value each time.
func newExchange(t testing.TB, r *Request, varies bool) *exchange {
	x := &exchange{next: 1}
	x.c = begun(t, Settings{Streams: streamsAtOnce}, x, 0)
	x.r = r
	for range streamsAtOnce {
		if _, out := x.c.AppendRequest(nil, r); out == nil {
			t.Fatal("no room")
		}
	}
	e := hpack.NewEncoder(writer{&x.in})
	for i := range 4096 {
		x.in = nil
		fields := []hpack.HeaderField{
			{Name: ":status", Value: "200"},
			{Name: "content-type", Value: "text/plain; charset=utf-8"},
			{Name: "content-length", Value: "13"},
			{Name: "date", Value: "Mon, 02 Jan 2006 15:04:05 GMT"},
		}
		if varies {
			fields = append(fields, hpack.HeaderField{Name: "etag", Value: string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))})
		}
		for _, f := range fields {
			if err := e.WriteField(f); err != nil {
				t.Fatal(err)
			}
		}
		x.blocks = append(x.blocks, x.in)
		if !varies && i == 1 { // the first inserted what the second refers to
			break
		}
	}
	x.in = nil
	return x
}

type writer struct{ to *[]byte }

func (w writer) Write(b []byte) (int, error) {
	*w.to = append(*w.to, b...)
	return len(b), nil
}

// round answers every stream once.
func (x *exchange) round(t testing.TB) {
	x.in, x.out = x.in[:0], x.out[:0]
	for range streamsAtOnce {
		block := x.blocks[min(x.turn, len(x.blocks)-1)]
		x.turn++
		x.in = appendHead(x.in, len(block), frameHeaders, flagEndHeaders, x.next)
		x.in = append(x.in, block...)
		x.in = append(appendHead(x.in, 13, frameData, flagEndStream, x.next), "Hello, World!"...)
		x.next += 2
	}
	if err := x.c.Feed(x.in); err != nil {
		t.Fatal(err)
	}
	if x.c.Pending() {
		x.out = x.c.AppendPending(x.out, 64<<10)
	}
}

// A request does not allocate, whether its answers repeat or not.
func TestAllocations(t *testing.T) {
	varying := get(t, 0, Field{Name: "x-request-id", Value: []byte("0123456789"), Vary: true})
	for name, x := range map[string]*exchange{
		"constant": newExchange(t, get(t, 0), false),
		"varying":  newExchange(t, varying, true),
		"content":  newExchange(t, request(t, 0, "POST", "/", []byte("abc"), 1000), false),
	} {
		window := raw(frameWindow, 0, 0, binary.BigEndian.AppendUint32(nil, streamsAtOnce*1000))
		round := func() {
			x.round(t)
			if name == "content" {
				if err := x.c.Feed(window); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 20 { // tables grow
			round()
		}
		before := x.ended
		if n := testing.AllocsPerRun(80, round); n != 0 {
			t.Errorf("%s: %v allocations in %d requests", name, n, streamsAtOnce)
		}
		if x.ended-before != 81*streamsAtOnce || x.fails > 0 || x.c.Active() != streamsAtOnce {
			t.Errorf("%s: %d answers, %d failures, %d active", name, x.ended-before, x.fails, x.c.Active())
		}
	}
}

// BenchmarkExchange measures a request and its answer, including the server, which copies
// prepared bytes.
func BenchmarkExchange(b *testing.B) {
	for name, x := range map[string]*exchange{
		"repeated": newExchange(b, get(b, 0), false),
		"decoded":  newExchange(b, get(b, 0), true),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; n < b.N; n += streamsAtOnce {
				if x.turn+streamsAtOnce > len(x.blocks) && len(x.blocks) > 2 {
					b.StopTimer()
					x = newExchange(b, x.r, true)
					b.StartTimer()
				}
				x.round(b)
			}
		})
	}
}
