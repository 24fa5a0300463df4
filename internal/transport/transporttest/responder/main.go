// Command responder is the transports' own floor: a session that parses nothing,
// counts blank lines and gives a constant answer for each. Its cost over that of
// the subject limit is what a transport costs.
package main

import (
	"bytes"
	"errors"
	"flag"
	"log"
	"net/http"
	_ "net/http/pprof"
	"time"

	"github.com/redline-go/redline/internal/buf"
	"github.com/redline-go/redline/internal/transport"
	"github.com/redline-go/redline/internal/transport/epoll"
	"github.com/redline-go/redline/internal/transport/std"
)

var (
	answer = []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!")
	blank  = []byte("\r\n\r\n")
)

// session answers each blank line.
type session struct{ delay time.Duration }

func (s session) Feed(in []byte, out *buf.Queue) (n int, err error) {
	for {
		i := bytes.Index(in[n:], blank)
		if i < 0 {
			return n, nil
		}
		n += i + len(blank)
		if s.delay > 0 {
			time.Sleep(s.delay)
		}
		out.Commit(append(out.Tail(len(answer)), answer...))
	}
}

func (session) EOF([]byte, *buf.Queue) error { return transport.ErrClosed }
func (session) Expired(*buf.Queue) error     { return transport.ErrClosed }
func (session) Drained()                     {}
func (session) Lost(error)                   {}
func (session) Closed(error)                 {}

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "listen on this `address`")
	name := flag.String("transport", "epoll", "`name` of the transport: epoll or std")
	loops := flag.Int("loops", 1, "event loops")
	delay := flag.Duration("delay", 0, "block this long for each answer")
	debug := flag.String("debug", "", "serve profiles on this `address`")
	flag.Parse()
	if *debug != "" {
		go func() { log.Fatal(http.ListenAndServe(*debug, nil)) }()
	}
	config := transport.Config{
		Loops:      *loops,
		NewSession: func(transport.Conn) transport.Session { return session{*delay} },
		Log:        func(msg string, err error) { log.Print(msg, ": ", err) },
	}
	var t transport.Transport
	var err error
	switch *name {
	case "epoll":
		t, err = epoll.New(config)
	case "std":
		t, err = std.New(config)
	default:
		log.Fatalf("no transport %q", *name)
	}
	if err != nil {
		log.Fatal(err)
	}
	if _, err := t.Listen("tcp", *addr, transport.ListenOptions{}); err != nil {
		log.Fatal(err)
	}
	if err := t.Serve(); !errors.Is(err, transport.ErrStopped) {
		log.Fatal(err)
	}
}
