package redline_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A soak is the clients of TestSoak.
type soak struct {
	patient, hasty *running // of the latter counts that it is there at the end
	errors         atomic.Int64

	mu   sync.Mutex
	done map[string]int
	took map[string]time.Duration
}

// A hostility is what a client does with one connection. An error is a flaw of
// the server, as far as the client can tell.
type hostility func(c *soakConn) error

// hostilities are good manners too, so that there is something to be noticed.
var hostilities = map[string]hostility{
	"polite":         polite,
	"pipelines":      pipelines,
	"floods":         floods,
	"resets":         resets,
	"half-closes":    halfCloses,
	"slow body":      slowBody,
	"chunked body":   chunkedBody,
	"expects 100":    expects,
	"aborted upload": abortedUpload,
	"dropped upload": droppedUpload,
	"garbage":        garbage,
	"mutated":        mutated,
	"slow reader":    slowReader,
	"big":            readsBig,
	"stream":         readsStream,
	"lost stream":    leavesStream,
	"leaves sleeper": leavesSleeper,
	"panics":         panics,
	"hijacks":        hijacks,
	"silent":         silent,
	"says nothing":   func(*soakConn) error { return nil },

	"slow reader of all":     readsSlowly,
	"half-closes at large":   halfClosesLarge,
	"half-closes a stream":   halfClosesStream,
	"half-closes content":    halfClosesContent,
	"half-closes pipelined":  halfClosesPipelined,
	"early reset":            earlyReset,
	"deaf":                   deaf,
	"narrow window":          narrowWindow,
	"trickles":               trickles,
	"answered early":         answeredEarly,
	"answered early, slowly": answeredEarlySlowly,
	"trickles at a stream":   tricklesAtStream,
}

// hostilities2 are those of clients that speak HTTP/2.
var hostilities2 = map[string]hostility{
	"h2 polite":       polite2,
	"h2 resets":       resets2,
	"h2 leaves":       leaves2,
	"h2 deaf":         deaf2,
	"h2 small window": smallWindow2,
	"h2 floods":       floods2,
	"h2 half frame":   halfFrame2,
	"h2 garbage":      garbage2,
	"h2 mutated":      mutated2,
	"h2 upload":       abortedUpload2,
}

func init() { maps.Copy(hostilities, hostilities2) }

// A soakConn is one connection of a hostile client.
type soakConn struct {
	net.Conn // or TLS on tcp
	tcp      *net.TCPConn
	r        *bufio.Reader
	rand     *rand.Rand
}

// client makes one connection after the other until the time end. All clients together,
// who are numbered, begin with one of each kind, also if that takes longer.
func (s *soak) client(i int, random *rand.Rand, end time.Time) {
	names := slices.Sorted(maps.Keys(hostilities)) // the order counts, as the choice is seeded
	for next := i; next < len(names) || time.Now().Before(end) && s.errors.Load() < 10; next += soakClients {
		var name string
		r := s.patient
		if next < len(names) {
			name = names[next]
		} else {
			name, r = names[random.IntN(len(names))], []*running{s.patient, s.patient, s.hasty}[random.IntN(3)]
		}
		if *soakOnly != "" {
			name = *soakOnly
		}
		if name == "silent" { // the other one waits for longer than this test
			r = s.hasty
		}
		began := time.Now()
		if err := s.connect(r, name, random); err != nil && r == s.patient {
			s.errors.Add(1)
			r.t.Errorf("%s: %v", name, err)
		}
		s.mu.Lock()
		s.done[name]++
		s.took[name] = max(s.took[name], time.Since(began))
		s.mu.Unlock()
	}
}

func (s *soak) connect(r *running, name string, random *rand.Rand) error {
	d := net.Dialer{Timeout: patience}
	if runtime.GOOS == "linux" {
		// Connections that end at the client's side keep their port for a minute.
		d.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+random.IntN(250)))}
	}
	if name == "narrow window" {
		d.Control = narrowly
	}
	nc, err := d.Dial("tcp", r.addr.String())
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	tcp := nc.(*net.TCPConn)
	if r.secure {
		var protocols []string
		if hostilities2[name] != nil {
			protocols = []string{"h2"}
		}
		if nc, err = handshake(nc, protocols...); err != nil {
			return err
		}
	}
	c := &soakConn{Conn: nc, tcp: tcp, r: bufio.NewReader(nc), rand: random}
	if err := hostilities[name](c); err != nil {
		return err
	}
	if random.IntN(2) == 0 {
		return c.tcp.SetLinger(0) // closing resets then
	}
	return nil
}

// text sends a request, or a part of one; the server may have closed.
func (c *soakConn) text(format string, args ...any) error {
	_, err := fmt.Fprintf(c, format, args...)
	return err
}

// maybe is for what a client does that the server need not put up with.
func maybe(error) {}

func (c *soakConn) pause(most time.Duration) { time.Sleep(time.Duration(c.rand.Int64N(int64(most)))) }

// answer reads an answer and wants it to have a body.
func (c *soakConn) answer(want string) error {
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || string(body) != want {
		return fmt.Errorf("%d %.80q (%d bytes), %w, want %.80q", resp.StatusCode, body, len(body), err, want)
	}
	return nil
}

// drain reads whatever comes until the server closes.
func (c *soakConn) drain() { _, _ = io.Copy(io.Discard, c.r) }

const get = "GET %s HTTP/1.1\r\nHost: h\r\n\r\n"
