package compat_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
)

// patience bounds every wait; nothing is expected to take it.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	os.Exit(m.Run())
}

// A server is what http.Server and redline.Server have in common.
type server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

// A carrier makes servers that run the handler of an http.Server, and are set up
// like it.
type carrier struct {
	name string
	make func(like *http.Server) server
}

// netHTTP is the measure of the others.
var netHTTP = carrier{"net/http", func(like *http.Server) server { return like }}

// A service is a server that runs.
type service struct {
	addr, url string
	client    *http.Client // with connections of its own
	log       *journal     // of the server
	noisy     bool         // the server is expected to log
}

// start serves a handler until the end of the test, when the server has to end
// well and to have had nothing to say.
func (c carrier) start(t *testing.T, h http.Handler) *service {
	t.Helper()
	return c.startLike(t, &http.Server{Handler: h})
}

func (c carrier) startLike(t *testing.T, like *http.Server) *service {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{DisableCompression: true, ExpectContinueTimeout: patience}
	s := &service{addr: ln.Addr().String(), log: new(journal), client: &http.Client{Transport: tr, Timeout: patience}}
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.url = "http://" + s.addr
	like.ErrorLog = log.New(s.log, "", 0)
	srv := c.make(like)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := srv.Shutdown(ctx); err != nil {
			t.Errorf("shut %s down: %v", c.name, err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("%s served until: %v", c.name, err)
		}
		if said := s.log.String(); said != "" && !s.noisy {
			t.Errorf("%s logged: %s", c.name, said)
		}
	})
	return s
}

// dial makes a raw connection.
func (s *service) dial(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// compare plays a scenario on net/http and on all the carriers, and wants the
// same report each time.
func compare(t *testing.T, scenario func(t *testing.T, c carrier, r *report)) {
	t.Helper()
	want := new(report)
	if !t.Run(netHTTP.name, func(t *testing.T) { scenario(t, netHTTP, want) }) {
		return
	}
	if want.String() == "" {
		t.Fatal("the report is empty: it proves nothing")
	}
	if testing.Verbose() {
		t.Log(want)
	}
	for _, c := range carriers() {
		t.Run(c.name, func(t *testing.T) {
			got := new(report)
			scenario(t, c, got)
			if d := difference(want.String(), got.String()); d != "" {
				t.Errorf("differs from net/http:\n%s", d)
			}
		})
	}
}

// difference is the first line that differs between two texts, with the one
// before it, or "".
func difference(want, got string) string {
	if want == got {
		return ""
	}
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	i := 0
	for i < min(len(w), len(g)) && w[i] == g[i] {
		i++
	}
	line := func(lines []string, i int) string {
		if i < 0 || i >= len(lines) {
			return "(none)"
		}
		return lines[i]
	}
	return fmt.Sprintf("after %.2000s\nwant  %.2000s\ngot   %.2000s", line(w, i-1), line(w, i), line(g, i))
}

// A journal is a log that may be written by any goroutine.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

// within gives the value that comes on a channel.
func within[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("waited in vain for %s", what)
	}
	return v
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
