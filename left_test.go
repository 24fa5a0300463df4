package redline_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// lying is longer than what the systems of a server and a client that reads nothing take.
var lying = bytes.Repeat([]byte("0123456789abcdef"), 1<<20)

// answersLying are ways to answer with more than a client takes, and to leave sending it to the
// transport.
var answersLying = map[string]redline.HandlerFunc{
	"static": func(c *redline.Ctx) { c.BytesNoCopy(200, "text/plain", lying) },
	"bytes":  func(c *redline.Ctx) { c.Bytes(200, "text/plain", lying) },
}

// TestLeftLying ends a client that does not take the end of its answer, which the handler has left to
// the transport: after StallTimeout or WriteTimeout, however long it might be idle.
func TestLeftLying(t *testing.T) {
	requests := map[string]string{
		"keep-alive": getHead + "\r\n",
		"close":      getHead + "Connection: close\r\n\r\n",
		"a head":     getHead + "\r\n" + getHead + "A: a",
	}
	bounds := map[string]func(*redline.Server, time.Duration){
		"stall":                 func(s *redline.Server, d time.Duration) { s.StallTimeout, s.IdleTimeout = d, -1 },
		"write":                 func(s *redline.Server, d time.Duration) { s.WriteTimeout, s.IdleTimeout, s.StallTimeout = d, -1, -1 },
		"write, idle is longer": func(s *redline.Server, d time.Duration) { s.WriteTimeout = d },
	}
	onEach(t, func(t *testing.T, transport redline.Transport) {
		var all sync.WaitGroup // they mostly wait
		for bound, change := range bounds {
			for _, answer := range answersLying {
				for name, request := range requests {
					all.Go(func() {
						inTime(t, func(deadline time.Duration) error { // which bounds the handshake, too
							r := timed(t, transport, func(s *redline.Server) { s.Native = answer; change(s, deadline) })
							c, err := r.dialInTime()
							if err != nil {
								return err
							}
							noError(t, c.tcp().SetReadBuffer(4<<10))
							began := time.Now()
							if _, err := io.WriteString(c.Conn, request); err != nil {
								return err
							}
							until(t, "a client that takes nothing is gone", func() bool { return r.Stats().Accepted == 1 && r.Stats().Open == 0 })
							if d := time.Since(began); d < deadline-deadline/10 {
								return fmt.Errorf("%s, %s: ended after %v, the deadline is %v", bound, name, d, deadline)
							}
							return nil
						})
					})
				}
			}
		}
		all.Wait()
	})
}

// TestLeftMoving serves a client that takes its answer steadily, for many times IdleTimeout.
func TestLeftMoving(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		var all sync.WaitGroup
		for name, answer := range answersLying {
			all.Go(func() {
				inTime(t, func(deadline time.Duration) error {
					r := serve(t, &redline.Server{Transport: transport, Native: answer, IdleTimeout: deadline, StallTimeout: deadline})
					c := r.dial()
					noError(t, c.tcp().SetReadBuffer(64<<10))
					c.send(getHead + "\r\n")
					resp, err := http.ReadResponse(c.r, nil)
					if err != nil {
						return err
					}
					n := int64(0)
					for n < int64(len(lying)) && err == nil {
						var k int64
						k, err = io.CopyN(io.Discard, resp.Body, 2<<20)
						n += k
						time.Sleep(deadline / 3)
					}
					if err != nil {
						return errors.New(name + ": " + err.Error())
					}
					began := time.Now() // and then it is idle
					c.wantGone()
					if d := time.Since(began); d > patience {
						t.Errorf("idle for %v", d)
					}
					return nil
				})
			})
		}
		all.Wait()
	})
}

// TestHijackStalled ends the wait of Hijack for a client that does not take the answers ahead.
func TestHijackStalled(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		var all sync.WaitGroup
		for name, change := range map[string]func(*redline.Server){
			"stall": func(s *redline.Server) { s.StallTimeout = short },
			"write": func(s *redline.Server) { s.WriteTimeout = short },
		} {
			all.Go(func() {
				ended := make(chan error, 1)
				r := timed(t, transport, func(s *redline.Server) {
					s.WriteBuffer = 64 << 20 // otherwise the request waits, too
					s.Native = func(c *redline.Ctx) {
						if c.Path() != "/hijack" {
							c.BytesNoCopy(200, "text/plain", lying)
							return
						}
						nc, err := c.Hijack()
						if err == nil {
							nc.Close()
						}
						ended <- err
					}
					change(s)
				})
				c := r.dial()
				noError(t, c.tcp().SetReadBuffer(4<<10))
				c.ask("/", "/hijack")
				if err := receive(t, ended, "Hijack returns"); !errors.Is(err, redline.ErrTimeout) {
					t.Errorf("%s: Hijack: %v, want a timeout", name, err)
				}
			})
		}
		all.Wait()
	})
}
