package http1

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

// A counter is a Subscriber that writes numbers, in parts of random lengths.
type counter struct {
	t       *testing.T
	rng     *rand.Rand
	to      exchange.Subscribed
	may     int // numbers that it may write
	at      int
	last    int // the response ends behind this one
	refused int
	gone    []error
	turning bool
}

// Turn implements exchange.Subscriber.
func (c *counter) Turn() exchange.Verdict {
	if c.turning || len(c.gone) > 0 {
		c.t.Errorf("Turn within a turn, or after Gone: %v", c.gone)
	}
	c.turning = true
	defer func() { c.turning = false }()
	for c.at < c.may {
		text := fmt.Sprintf("%d,", c.at)
		if c.rng.IntN(3) == 0 {
			text += strings.Repeat(" ", c.rng.IntN(3000))
		}
		taken := false
		if c.rng.IntN(2) == 0 {
			taken = c.to.Put([]byte(text))
		} else {
			whole := AppendChunkTail(append(AppendChunkHead(nil, len(text)), text...))
			taken = c.to.PutFrame(&exchange.Frame{Body: []byte(text), Chunk: whole})
		}
		if !taken {
			c.refused++
			return exchange.Continue
		}
		c.at++
	}
	if c.at == c.last {
		return exchange.End
	}
	return exchange.Continue
}

// Gone implements exchange.Subscriber.
func (c *counter) Gone(err error) { c.gone = append(c.gone, err) }

// A pusher subscribes a counter for each request.
type pusher struct {
	t   *testing.T
	rng *rand.Rand
	all []*counter
}

// ServeExchange implements exchange.Handler.
func (p *pusher) ServeExchange(x *exchange.Exchange) {
	c := &counter{t: p.t, rng: p.rng, last: 1 + p.rng.IntN(60)}
	x.Subscribed = true
	c.to = x.Session.Subscribe(x, c)
	p.all = append(p.all, c)
}

// TestSubscribeOnFake pushes to a connection that does what networks do: everything arrives,
// in order and framed as it has to be, or the subscriber is told that its client has gone.
func TestSubscribeOnFake(t *testing.T) {
	const requests = 3
	whole, refused := 0, 0
	for seed := range uint64(600 / tries) {
		rng := rand.New(rand.NewPCG(seed, 9))
		p := &pusher{t: t, rng: rng}
		cfg := &exchange.Config{Handler: p, HighWater: 4 << 10, StallTimeout: time.Minute}
		f := transporttest.NewFake(t, seed, func(c transport.Conn) transport.Session { return NewSession(c, cfg) })
		if seed%3 == 0 {
			f.Faults(0.003)
		}
		f.SendString(strings.Repeat("GET / HTTP/1.1\r\nHost: h\r\n\r\n", requests))
		for n := 0; n < 5000 && (len(p.all) < requests || len(p.all[requests-1].gone) == 0); n++ {
			f.Step()
			if n := len(p.all); n > 0 && rng.IntN(4) == 0 {
				p.all[n-1].next(f)
			}
			f.Stall(rng.IntN(5) == 0)
		}
		f.Stall(false)
		f.End()
		f.Run()
		if closed, _ := f.Closed(); !closed {
			t.Fatalf("seed %d: %v", seed, f)
		}
		r := bufio.NewReader(strings.NewReader(string(f.Output())))
		for i, c := range p.all {
			refused += c.refused
			if len(c.gone) != 1 {
				t.Fatalf("seed %d: Gone is called %d times: %v", seed, len(c.gone), c.gone)
			}
			if c.gone[0] != nil {
				continue
			}
			if err := c.check(r); err == nil {
				whole++
			} else if seed%3 != 0 { // otherwise a reset may have destroyed what was sent
				t.Fatalf("seed %d, response %d: %v", seed, i, err)
			}
		}
	}
	if whole < 600/tries || refused < 100/tries {
		t.Errorf("only %d responses have ended well, and %d writes were refused", whole, refused)
	}
}

// next allows more numbers, and requests a turn in one way or the other.
func (c *counter) next(f *transporttest.Fake) {
	c.may = min(c.may+c.rng.IntN(8), c.last)
	if c.rng.IntN(2) == 0 {
		c.to.Turn()
		return
	}
	done := false
	f.Loop().Walk(func() (transport.Turned, bool) {
		defer func() { done = true }()
		if done {
			return nil, false
		}
		return c.to.At(), true
	})
}

// check reads a response, which has to have all numbers.
func (c *counter) check(r *bufio.Reader) error {
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	numbers := strings.Split(strings.ReplaceAll(string(b), " ", ""), ",")
	if len(numbers) != c.last+1 {
		return fmt.Errorf("%d numbers, want %d", len(numbers)-1, c.last)
	}
	for i, n := range numbers[:c.last] {
		if n != fmt.Sprint(i) {
			return fmt.Errorf("%s where %d is due", n, i)
		}
	}
	return nil
}

// TestSubscribeStopped wants a subscriber to learn that the server has stopped, also when that ends its
// connection before it is closed.
func TestSubscribeStopped(t *testing.T) {
	for lost, want := range map[error]error{transport.ErrStopped: transport.ErrStopped, transport.ErrLost: exchange.ErrGone} {
		p := &pusher{t: t, rng: rand.New(rand.NewPCG(1, 1))}
		cfg := &exchange.Config{Handler: p, HighWater: 4 << 10, StallTimeout: time.Minute}
		var s *Session
		f := transporttest.NewFake(t, 1, func(c transport.Conn) transport.Session {
			s = NewSession(c, cfg)
			return s
		})
		f.SendString("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
		for n := 0; n < 1000 && (len(p.all) == 0 || s.phase != inPush); n++ {
			f.Step()
		}
		s.Lost(lost)
		for n := 0; n < 1000 && len(p.all[0].gone) == 0; n++ {
			f.Step()
		}
		if gone := p.all[0].gone; len(gone) != 1 || gone[0] != want {
			t.Errorf("%v: the subscriber gets %v, want %v", lost, gone, want)
		}
	}
}
