//go:build linux

package peers_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redline-go/redline/peers/internal/backend"
	"github.com/redline-go/redline/peers/internal/subject"
)

// value is what the scripted Redis has for every key.
var value = strings.Repeat("0123456789abcdef", 4)

// listenUnix serves connections on a unix socket until the test ends.
func listenUnix(t *testing.T, serve func(net.Conn) error) (path string) {
	t.Helper()
	path = filepath.Join(shortDir(t), ".s.PGSQL.5432") // the name that clients of PostgreSQL look for
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if err := serve(conn); err != nil && !errors.Is(err, io.EOF) {
					t.Log(err)
				}
			}()
		}
	}()
	return path
}

// redis answers GET with the value, and refuses the rest, as an old Redis does with
// what clients say when they begin.
func redis(conn net.Conn) error {
	in := bufio.NewReader(conn)
	for {
		var words int
		if _, err := fmt.Fscanf(in, "*%d\r\n", &words); err != nil {
			return io.EOF
		}
		var command []string
		for range words {
			var size int
			if _, err := fmt.Fscanf(in, "$%d\r\n", &size); err != nil {
				return err
			}
			word := make([]byte, size+2)
			if _, err := io.ReadFull(in, word); err != nil {
				return err
			}
			command = append(command, string(word[:size]))
		}
		answer := "-ERR unknown command\r\n"
		if strings.EqualFold(command[0], "get") && command[1] == backend.Key {
			answer = fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return err
		}
	}
}

// waits answers every question of the waiting backend at once, and tells what it was.
func waits(asked chan<- uint64) func(net.Conn) error {
	return func(conn net.Conn) error {
		for {
			var word [8]byte
			if _, err := io.ReadFull(conn, word[:]); err != nil {
				return err
			}
			asked <- binary.LittleEndian.Uint64(word[:])
			if _, err := conn.Write(word[:]); err != nil {
				return err
			}
		}
	}
}

// parts answers each request of HTTP with the part of the text that it asks for, the first
// one last: all must be on their way before one is answered.
func parts() func(net.Conn) error {
	texts := []string{"Hello, ", "World", "!"}
	turn := make(chan bool, len(texts))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /part", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.FormValue("n"))
		if err != nil || n < 1 || n > len(texts) || r.FormValue("wait") != "1ms" {
			http.Error(w, r.RequestURI, http.StatusBadRequest)
			return
		}
		if n > 1 {
			turn <- true
		} else {
			<-turn
			<-turn
		}
		io.WriteString(w, texts[n-1])
	})
	return func(conn net.Conn) error {
		in := bufio.NewReader(conn)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return err
			}
			answer := httptest.NewRecorder()
			mux.ServeHTTP(answer, r)
			result := answer.Result()
			result.ContentLength = int64(answer.Body.Len())
			if err := result.Write(conn); err != nil {
				return err
			}
		}
	}
}

func TestBackends(t *testing.T) {
	each(t, stacks, func(t *testing.T, name string) {
		asked := make(chan uint64, 100)
		p := start(t, name, "--redis", listenUnix(t, redis), "--wait", listenUnix(t, waits(asked)),
			"--fanout", listenUnix(t, parts()), "--postgres", rowURL(listenUnix(t, postgres)))
		c := p.dial(t)
		for range 2 {
			for _, test := range []struct{ target, want string }{
				{"/redis", value},
				{"/wait?wait=60us", subject.Hello},
				{"/wait?wait=1ms", subject.Hello},
				{"/postgres", value},
				{"/fanout?wait=1ms", subject.Hello},
				{"/burn?rounds=3", subject.Hello},
				{"/plaintext?id=17", subject.Hello},
			} {
				c.send(t, "GET "+test.target+" HTTP/1.1\r\nHost: a\r\n\r\n")
				answer, body := c.answer(t, http.MethodGet)
				if answer.StatusCode != http.StatusOK || string(body) != test.want {
					t.Errorf("%s: %s with %.100q", test.target, answer.Status, body)
				}
				checkType(t, answer, "text/plain")
				if answer.Header.Get("Content-Length") == "" {
					t.Errorf("%s: no Content-Length in %v", test.target, answer.Header)
				}
			}
			for _, want := range []uint64{60_000, 1_000_000} {
				if got := <-asked; got != want {
					t.Errorf("the backend is asked to wait %d ns, want %d", got, want)
				}
			}
		}
	})
}

func TestBackendsThatAreNotThere(t *testing.T) {
	each(t, stacks, func(t *testing.T, name string) {
		p := start(t, name)
		c := p.dial(t)
		for target, want := range map[string]int{
			"/redis": 503, "/postgres": 503, "/wait?wait=1ms": 503, "/wait?wait=2s": 400, "/wait": 400, "/fanout?wait=1ms": 503, "/fanout": 400, "/fanout?wait=-1s": 400, "/burn": 400, "/burn?rounds=-1": 400,
		} {
			c.send(t, "GET "+target+" HTTP/1.1\r\nHost: a\r\n\r\n")
			if answer, _ := c.answer(t, http.MethodGet); answer.StatusCode != want {
				t.Errorf("%s: %s, want %d", target, answer.Status, want)
			}
		}
	})
}

// TestDifferentRequests pipelines requests that differ in target and fields: all get
// the same answer.
func TestDifferentRequests(t *testing.T) {
	const requests = 16
	var burst strings.Builder
	for i := range requests {
		fmt.Fprintf(&burst, "GET /plaintext?id=%d HTTP/1.1\r\nHost: a\r\nUser-Agent: agent/%d\r\nX-Request-Id: %032x\r\n"+
			"traceparent: 00-%032x-%016x-01\r\n\r\n", 1+i*i*7919, i, i, i+1, i+2)
	}
	each(t, subjects, func(t *testing.T, name string) {
		c := start(t, name).dial(t)
		c.send(t, burst.String())
		for i := range requests {
			answer, body := c.answer(t, http.MethodGet)
			if answer.StatusCode != http.StatusOK || string(body) != subject.Hello {
				t.Fatalf("answer %d: %s with %q", i, answer.Status, body)
			}
		}
		if n := c.in.Buffered(); n > 0 {
			t.Errorf("%d bytes too many", n)
		}
	})
}
