package tlsclient

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"
)

var versions = map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13}

func TestExchange(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 10_000)
	for name, v := range versions {
		for _, size := range []int{1, 7, 1000, 1 << 20} {
			t.Run(fmt.Sprintf("%s by %d", name, size), func(t *testing.T) {
				c, s := stand(t, client(t, trusting()), version(v), size)
				if st := c.State(); st.Version != v || st.Protocol != "h2" || st.Resumed || st.Took <= 0 || st.Cipher == 0 || st.Curve == 0 {
					t.Errorf("state %+v", st)
				}
				p := &play{size: size}
				for range 3 {
					request, err := c.Write(nil, large)
					if err != nil {
						t.Fatal(err)
					}
					p.run(c, s, request, nil)
					answer, err := s.Write(nil, p.served)
					if err != nil {
						t.Fatal(err)
					}
					p.run(c, s, nil, answer)
					if p.err != nil || p.refused != nil || !bytes.Equal(p.got, large) {
						t.Fatalf("%d of %d bytes come back, %v, %v", len(p.got), len(large), p.err, p.refused)
					}
					p.got, p.served = nil, nil
				}
				// The last answer and the end arrive together.
				last, err := s.Write(nil, []byte("bye"))
				if err != nil {
					t.Fatal(err)
				}
				p.run(c, s, nil, s.Close(last))
				if string(p.got) != "bye" || p.err != io.EOF {
					t.Errorf("the end: %q, %v", p.got, p.err)
				}
				if err := c.End(); err != nil {
					t.Errorf("an orderly end: %v", err)
				}
				p.run(c, s, c.Close(nil), nil)
				if p.refused != io.EOF {
					t.Errorf("the client's end: %v", p.refused)
				}
			})
		}
	}
}

// A short exchange succeeds wherever the server's output is split in two.
func TestSplit(t *testing.T) {
	c, s := stand(t, client(t, trusting()), nil, 1<<20)
	want := ""
	for i := range 70 {
		text := fmt.Sprintf("answer %d", i)
		answer, err := s.Write(nil, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		answer, err = s.Write(answer, []byte(";"))
		if err != nil {
			t.Fatal(err)
		}
		want += text + ";"
		at := min(i, len(answer))
		p := &play{size: 1 << 20}
		p.run(c, s, nil, answer[:at])
		p.run(c, s, nil, answer[at:])
		if want = text + ";"; string(p.got) != want || p.err != nil {
			t.Fatalf("split at %d: %q, %v", at, p.got, p.err)
		}
	}
	// The handshake, split at each byte of the server's output.
	hello := 0
	for at := 1; at == 1 || at < hello; at += 13 {
		s := server(t, nil)
		c, out, err := client(t, trusting()).Start(nil)
		if err != nil {
			t.Fatal(err)
		}
		_, flight, err := s.Feed(out, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		hello = len(flight)
		p := &play{size: 1 << 20}
		_, out, err = c.Feed(flight[:at], nil, nil)
		if err == nil && at < hello {
			var more []byte
			_, more, err = c.Feed(flight[at:], nil, nil)
			out = append(out, more...)
		}
		p.run(c, s, out, nil)
		if err != nil || p.refused != nil || !c.Ready() || !s.Ready() {
			t.Fatalf("handshake split at %d of %d: %v, %v", at, hello, err, p.refused)
		}
	}
}

func TestResumption(t *testing.T) {
	for name, v := range versions {
		for _, resume := range []bool{false, true} {
			for _, insecure := range []bool{false, true} {
				settings := trusting()
				settings.Resume = resume
				if insecure {
					settings.Insecure, settings.ServerName, settings.Roots = true, "", nil
				}
				cl := client(t, settings)
				for i := range 4 {
					s := server(t, func(c *tls.Config) {
						version(v)(c)
						c.SetSessionTicketKeys([][32]byte{{1}})
					})
					p := &play{}
					c := start(t, cl, s, p)
					if p.err != nil || !c.Ready() {
						t.Fatal(p.err)
					}
					if got, want := c.State().Resumed, resume && i > 0; got != want {
						t.Errorf("%s, connection %d: resumed is %v with Resume %v", name, i, got, resume)
					}
				}
			}
		}
	}
}

// A connection that is closed during its handshake leaves nothing behind, also on a
// goroutine that is locked to its thread.
func TestAbandoned(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cl := client(t, trusting())
	before := runtime.NumGoroutine()
	for i := range 50 {
		c, out, err := cl.Start(nil)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			s := server(t, nil)
			_, flight, err := s.Feed(out, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := c.Feed(flight[:100], nil, nil); err != nil {
				t.Fatal(err)
			}
			s.Close(nil)
		}
		if out := c.Close(nil); len(out) > 0 {
			t.Errorf("%d bytes of a connection that was closed", len(out))
		}
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
	stand(t, cl, nil, 100)
}

func TestSettings(t *testing.T) {
	for _, s := range []Settings{{}, {Insecure: true, Min: tls.VersionTLS13, Max: tls.VersionTLS12}} {
		if _, err := NewClient(s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// FuzzFeed feeds a connection arbitrary bytes.
func FuzzFeed(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"), byte(3))
	f.Add([]byte{22, 3, 3, 0, 4, 2, 0, 0, 0}, byte(1))
	f.Add([]byte{21, 3, 3, 0, 2, 2, 40}, byte(1))
	f.Add([]byte{23, 3, 3, 0x40, 0, 1}, byte(9))
	f.Fuzz(func(t *testing.T, in []byte, size byte) {
		cl := client(t, trusting())
		early, _, err := cl.Start(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer early.Close(nil)
		late, s := stand(t, cl, nil, 1<<20)
		for _, c := range []*Filter{early, late} {
			p := &play{size: int(size) + 1}
			p.run(c, s, nil, in)
			if len(p.got) > 0 {
				t.Fatalf("%q out of nothing", p.got)
			}
			if e, is := errors.AsType[*Error](p.err); p.err != nil && (!is || e.Kind == 0) {
				t.Fatalf("error %v", p.err)
			}
		}
	})
}

// BenchmarkRoundTrip measures the client's TLS for 32 requests and answers over HTTP/2: one
// Write of 500 bytes, one Feed of 1,600.
func BenchmarkRoundTrip(b *testing.B) {
	c, s := stand(b, client(b, trusting()), nil, 1<<20)
	var answers [][]byte
	request, answer := make([]byte, 500), make([]byte, 1600)
	plain, out := make([]byte, 0, 64<<10), make([]byte, 0, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		if len(answers) == 0 {
			b.StopTimer()
			for range 1000 {
				record, err := s.Write(nil, answer)
				if err != nil {
					b.Fatal(err)
				}
				answers = append(answers, record)
			}
			b.StartTimer()
		}
		if _, err := c.Write(out, request); err != nil {
			b.Fatal(err)
		}
		if _, _, err := c.Feed(answers[0], plain, out); err != nil {
			b.Fatal(err)
		}
		answers = answers[1:]
	}
}
