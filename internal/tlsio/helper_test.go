package tlsio

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/transporttest"
)

// A liner is an inner session that answers lines.
type liner struct {
	transport.Conn
	t        testing.TB
	large    []byte
	file     *os.File
	size     int64 // announced for file
	hijacked chan net.Conn
	ended    bool
	lost     error
	closed   bool
}

func (s *liner) Feed(in []byte, out *buf.Queue) (n int, err error) {
	for {
		i := bytes.IndexByte(in[n:], '\n')
		if i < 0 {
			return n, nil
		}
		l := string(in[n : n+i])
		n += i + 1
		switch l {
		case "close":
			out.WriteString("bye\n")
			return n, transport.ErrClosed
		case "large":
			out.Ref(s.large)
		case "file":
			out.WriteString("head ")
			out.File(s.file, 0, s.size, nil)
			out.WriteString(" tail\n")
		case "large, close":
			out.Ref(s.large)
			return n, transport.ErrClosed
		case "pause":
			s.Pause(true)
			return n, nil
		case "hijack":
			nc, err := s.Hijack(in[n:], out)
			if err != nil {
				s.t.Error(err)
			}
			s.hijacked <- nc
			return len(in), nil
		default:
			out.WriteString(l + "\n")
		}
	}
}

func (s *liner) EOF([]byte, *buf.Queue) error {
	s.ended = true
	return transport.ErrClosed
}

func (s *liner) Expired(*buf.Queue) error { return transport.ErrClosed }
func (s *liner) Drained()                 {}
func (s *liner) Lost(err error)           { s.lost = err }
func (s *liner) Closed(error)             { s.closed = true }

// A pair is a connection in memory with a session, and its client.
type pair struct {
	*transporttest.Fake
	t       testing.TB
	cfg     *Config
	session *Session
	inner   *liner
	client  *tls.Conn
	read    int // bytes of output that the client has received
	wrote   int // bytes that it has sent
	cut     int // after this many, the server runs
}

func newPair(t testing.TB, seed uint64, change ...func(*Config)) *pair {
	p := &pair{t: t, inner: &liner{t: t, hijacked: make(chan net.Conn, 1)}}
	p.cfg = serverConfig(func(c transport.Conn) transport.Session {
		p.inner.Conn = c
		return p.inner
	})
	for _, f := range change {
		f(p.cfg)
	}
	p.Fake = transporttest.NewFake(t, seed, func(c transport.Conn) transport.Session {
		p.session = NewSession(c, p.cfg)
		return p.session
	})
	p.client = tls.Client(p, &tls.Config{InsecureSkipVerify: true})
	return p
}

// Read implements net.Conn for the client.
func (p *pair) Read(b []byte) (int, error) {
	closed := false
	p.Wait("the client has something to read", func() bool {
		closed, _ = p.Fake.Closed()
		return closed || len(p.Output()) > p.read
	})
	n := copy(b, p.Output()[p.read:])
	if p.read += n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Write implements net.Conn for the client.
func (p *pair) Write(b []byte) (int, error) {
	if k := p.cut - p.wrote; k > 0 && k < len(b) {
		p.Send(b[:k])
		p.Run()
		p.Send(b[k:])
	} else {
		p.Send(b)
	}
	p.wrote += len(b)
	return len(b), nil
}

func (p *pair) Close() error                     { return nil }
func (p *pair) SetDeadline(time.Time) error      { return nil }
func (p *pair) SetReadDeadline(time.Time) error  { return nil }
func (p *pair) SetWriteDeadline(time.Time) error { return nil }

// say sends a text in one record.
func (p *pair) say(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.client, text); err != nil {
		p.t.Fatal(err)
	}
}

// want reads a text.
func (p *pair) want(text string) {
	p.t.Helper()
	b := make([]byte, len(text))
	if n, err := io.ReadFull(p.client, b); err != nil || string(b) != text {
		p.t.Fatalf("client reads %.80q, %v, want %.80q; %v", b[:n], err, text, p.Fake)
	}
}

// wantEnd reads the end: close_notify, or a truncated stream.
func (p *pair) wantEnd(want error) {
	p.t.Helper()
	n, err := p.client.Read(make([]byte, 1))
	if n > 0 || !errors.Is(err, want) {
		p.t.Errorf("client reads %d bytes, %v, want %v", n, err, want)
	}
}

// records counts the records of application data in ciphertext.
func records(b []byte) (n int) {
	for len(b) >= recordHeader {
		if b[0] == 23 {
			n++
		}
		b = b[recordHeader+int(b[3])<<8+int(b[4]):]
	}
	return n
}

// log collects failed handshakes.
type failures struct {
	causes []Cause
	errs   []string
}

func (f *failures) to(c *Config) {
	c.Failed = func(_ net.Addr, cause Cause, err error) {
		f.causes = append(f.causes, cause)
		f.errs = append(f.errs, err.Error())
	}
}

func (f *failures) want(t *testing.T, cause Cause, text string) {
	t.Helper()
	if len(f.causes) != 1 || f.causes[0] != cause || !strings.Contains(f.errs[0], text) {
		t.Errorf("failures: %v %q, want %d %q", f.causes, f.errs, cause, text)
	}
}
