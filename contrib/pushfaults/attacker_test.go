package pushfaults

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// workers is how many clients of an attack are busy at a time, and rate how many come in a second if they come
// again and again.
const (
	workers = 50
	rate    = 300
)

// A crew are the clients of an attack from within their process.
type crew struct {
	o      *order
	a      *attack
	done   atomic.Int64
	failed atomic.Int64
	held   sync.WaitGroup // clients that stay to the end
	end    chan struct{}
}

// report is what an attacker says: when each of its clients has come, and at the end.
type report struct{ Done, Failed int }

// playAttacker is the main function of an attacker. With Full, clients that leave are followed by others until
// the end of its input.
func playAttacker(o *order) {
	w := &crew{o: o, a: find(o.Attack), end: make(chan struct{})}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(w.end)
	}()
	var working sync.WaitGroup
	var next atomic.Int64
	begin := time.Now()
	for range workers {
		working.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= o.Clients && (!o.Full || w.a.stays) {
					return
				}
				if o.Full && !w.a.stays {
					time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / rate)))
				}
				select {
				case <-w.end:
					return
				default:
				}
				if err := w.a.client(w, i); err != nil {
					w.failed.Add(1)
				}
				w.done.Add(1)
			}
		})
	}
	working.Wait()
	w.say()
	<-w.end
	w.held.Wait()
	w.say()
}

func (w *crew) say() {
	if err := json.NewEncoder(os.Stdout).Encode(report{int(w.done.Load()), int(w.failed.Load())}); err != nil {
		fatal(err)
	}
}

// dial connects, with a small buffer if the client is not going to read.
func (w *crew) dial(small bool) (net.Conn, error) {
	d := net.Dialer{Timeout: patience}
	if small {
		d.Control = func(_, _ string, c syscall.RawConn) (err error) {
			return errors.Join(c.Control(func(fd uintptr) {
				err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
			}), err)
		}
	}
	return d.Dial("tcp", w.o.At)
}

// ask sends a request, and reads n bytes of the answer.
func (w *crew) ask(small bool, n int, head string) (net.Conn, error) {
	conn, err := w.dial(small)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err = io.WriteString(conn, head+" HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"); err == nil {
		_, err = io.ReadFull(conn, make([]byte, n))
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	return conn, nil
}

// come asks for a stream, reads its beginning and leaves.
func (w *crew) come(head string) error {
	conn, err := w.ask(false, 64, head)
	if err != nil {
		return err
	}
	return conn.Close()
}

// stay asks for a stream, reads its beginning and then nothing, until the end.
func (w *crew) stay(small bool, head string) error {
	conn, err := w.ask(small, 64, head)
	if err != nil {
		return err
	}
	w.held.Go(func() {
		<-w.end
		conn.Close()
	})
	return nil
}

// follow asks for a stream, and stays when it has read so many events.
func (w *crew) follow(head string, events int) error {
	conn, err := w.ask(false, 64, head)
	if err != nil {
		return err
	}
	w.held.Go(func() {
		<-w.end
		conn.Close()
	})
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	for r := bufio.NewReaderSize(conn, 512); events > 0; {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) > 6 && string(line[:6]) == "data: " {
			events--
		}
	}
	return nil
}

// An attacker is the process of an attack from outside.
type attacker struct {
	*process
	of   *attack
	over chan struct{} // closed when its clients have come
	done int
}

func startAttacker(t *testing.T, o order) *attacker {
	t.Helper()
	a := &attacker{process: start(t, attackerVariable, &o, "nice", "-n", "19"), of: find(o.Attack), over: make(chan struct{})}
	go func() {
		defer close(a.over)
		if _, err := a.out.Peek(1); err != nil { // the report
			t.Errorf("the attacker says nothing: %v", err)
		}
	}()
	return a
}

// end ends the attack, and returns how many clients have not got what is theirs.
func (a *attacker) end() (failed int) {
	a.t.Helper()
	a.in.Close()
	<-a.over
	var r report
	a.hear(&r)
	a.hear(&r)
	a.done = r.Done
	a.stop()
	if !a.of.theirs {
		return 0
	}
	return r.Failed
}
