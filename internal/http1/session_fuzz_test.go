package http1

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

// allowed is how many requests of the input may reach a handler, by the oracle:
// those before the first that is not right or not whole.
func allowed(in string) (n int) {
	lim := exchange.Limits{}.WithDefaults()
	for {
		_, head, length, ok := oracleHead(in, lim)
		if !ok {
			return n
		}
		n++
		in = in[head:]
		if length == exchange.UnknownLength {
			_, used, ok := oracleChunked(in, lim)
			if !ok {
				return n
			}
			in = in[used:]
			continue
		}
		if length > int64(len(in)) {
			return n
		}
		in = in[length:]
	}
}

// pieces are what inputs are strung together from.
var pieces = []string{
	req("GET", "/text", ""), req("GET", "/path", closes), req("HEAD", "/chunks", ""), req10("GET", "/text", keeps), req10("GET", "/text", ""),
	req("POST", "/echo", "Content-Length: 5\r\n"), req("POST", "/text", "Content-Length: 5\r\n"), "hello",
	req("POST", "/echo", "Transfer-Encoding: chunked\r\n"), req("POST", "/text", "Transfer-Encoding: chunked\r\n"),
	"5\r\nhello\r\n", "0\r\n\r\n", "0\r\nA: b\r\n\r\n", "1;a=b\r\nx\r\n", req("POST", "/echo", "Expect: 100-continue\r\nContent-Length: 5\r\n"),
	"GET /text HTTP/1.1\r\nHost: h\n\r\n", "\r\n", "\n", "0x5\r\nhello\r\n", req("POST", "/echo", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
	req("GET", "/trailers", ""), req("GET", "/whole", ""), req("GET", "/info", ""), req("GET", "/204", ""), "CONNECT h:1 HTTP/1.1\r\n" + host + "\r\n",
}

// counting counts the requests that reach a handler.
type counting struct {
	exchange.Handler
	n int
}

func (c *counting) ServeExchange(x *exchange.Exchange) {
	c.n++
	c.Handler.ServeExchange(x)
}

// checkSession feeds an input at once and in two pieces, and holds the session to
// the oracle and to itself.
func checkSession(t *testing.T, in string, cut int) {
	t.Helper()
	var got []string
	for _, arrivals := range [][]string{{in}, {in[:cut], in[cut:]}} {
		h := &counting{Handler: handlers}
		m := newMem(t, h).send(arrivals...)
		if m.open() {
			m.eof()
		}
		if most := allowed(in); h.n > most {
			t.Fatalf("%q: %d requests are handled, the oracle allows %d", arrivals, h.n, most)
		}
		m.session.Closed(nil)
		got = append(got, strings.ReplaceAll(m.answers(), "HTTP/1.1 100 Continue\r\n\r\n", ""))
	}
	if got[0] != got[1] {
		t.Fatalf("%q split at %d:\n%q\nwhole:\n%q", in, cut, got[1], got[0])
	}
}

// FuzzSession feeds anything.
func FuzzSession(f *testing.F) {
	for _, c := range sessions {
		f.Add([]byte(c.in), uint16(len(c.in)/2))
	}
	for _, s := range seeds {
		f.Add([]byte(s+behind), uint16(len(s)))
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint16) { checkSession(t, string(b), int(cut)%(len(b)+1)) })
}

// randomInput strings pieces together, some of them with one byte changed.
func randomInput(rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.IntN(8) {
		p := []byte(pieces[rng.IntN(len(pieces))])
		if rng.IntN(6) == 0 {
			p[rng.IntN(len(p))] = byte(rng.IntN(256))
		}
		b.Write(p)
	}
	return b.String()
}

// TestSessionRandom feeds what is right but for a few things.
func TestSessionRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 5000 / tries {
		in := randomInput(rng)
		checkSession(t, in, rng.IntN(len(in)+1))
	}
}

// TestSessionOnFake runs sessions on a connection that splits, resets and checks
// the contract at will: a client that gets a good end gets what it gets without.
func TestSessionOnFake(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	whole := 0
	for seed := range uint64(1500 / tries) {
		var in string
		for range 1 + rng.IntN(6) {
			in += sessions[rng.IntN(len(sessions))].in
		}
		want := newMem(t, handlers).send(in)
		cfg := *want.session.cfg
		f := transporttest.NewFake(t, seed, func(c transport.Conn) transport.Session { return NewSession(c, &cfg) })
		faults := seed%3 == 0
		if faults {
			f.Faults(0.02)
		}
		f.SendString(in)
		f.End()
		f.Run()
		if closed, _ := f.Closed(); !closed {
			t.Fatalf("seed %d: %v", seed, f)
		}
		if want.open() {
			want.eof()
		}
		output := string(f.Output())
		got, all := clean(output), clean(want.got.String())
		if lines := clean(output[:strings.LastIndexByte(output, '\n')+1]); faults && strings.HasPrefix(all, lines) {
			continue
		}
		if got != all {
			t.Fatalf("seed %d: %q\n%q, want\n%q", seed, in, got, all)
		}
		whole++
	}
	if whole < 500/tries {
		t.Errorf("only %d connections ended well", whole)
	}
}

// clean takes out what depends on when input arrives.
func clean(s string) string {
	return strings.ReplaceAll(dateLine.ReplaceAllString(s, ""), "HTTP/1.1 100 Continue\r\n\r\n", "")
}

// TestHeldOnFake streams from other goroutines over a connection that resets at
// will.
func TestHeldOnFake(t *testing.T) {
	for seed := range uint64(200) {
		h := pathHandler{"hold": func(x *exchange.Exchange) {
			x.Session.Hold(x, func(held exchange.Held) {
				for i := range 20 {
					if held.Send(fmt.Appendf(nil, "%d,", i)) != nil {
						break
					}
					if i%5 == 0 {
						drained := make(chan struct{})
						held.OnDrain(0, func() { close(drained) })
						<-drained
					}
				}
				held.Close()
			})
		}, "text": handlers["text"]}
		cfg := &exchange.Config{Handler: h, HighWater: 1 << 16}
		f := transporttest.NewFake(t, seed, func(c transport.Conn) transport.Session { return NewSession(c, cfg) })
		if seed%2 == 0 {
			f.Faults(0.01)
		}
		f.SendString(req("GET", "/hold", "") + req("GET", "/hold", "") + behind)
		closed := func() bool { closed, _ := f.Closed(); return closed }
		f.Wait("all is answered", func() bool { return strings.HasSuffix(string(f.Output()), "hello") || closed() })
		if n := strings.Count(string(f.Output()), "19,"); !closed() && n != 2 {
			t.Errorf("seed %d: %d answers are whole: %q", seed, n, f.Output())
		}
		f.End()
		f.Wait("the connection is closed", closed)
	}
}
