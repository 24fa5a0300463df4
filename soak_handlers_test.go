package redline_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline"
)

// hostileHandlers are handlers that do what handlers should not, and some that
// do what they should.
type hostileHandlers struct {
	running atomic.Int64
	calm    atomic.Bool
	file    string // that holds soakWhole
}

// closes is a hook that closes connections now and then, at once or a little later.
func (h *hostileHandlers) closes(c net.Conn, _ http.ConnState) {
	switch {
	case h.calm.Load():
	case rand.IntN(40) == 0:
		maybe(c.Close())
	case rand.IntN(40) == 0:
		h.running.Add(1)
		go func() {
			defer h.running.Add(-1)
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
			maybe(c.Close())
		}()
	}
}

// soakWhole is the large answer: soakParts parts that tell where they are.
var soakWhole = func() (b []byte) {
	for i := range soakParts {
		b = append(b, bytes.Repeat([]byte{byte(i)}, soakPart)...)
	}
	return b
}()

var soakText = string(soakWhole)

func (h *hostileHandlers) router() *redline.Router {
	router, std := redline.NewRouter(), h.twins()
	for pattern, f := range map[string]redline.HandlerFunc{
		"/id/{n}":     func(c *redline.Ctx) { c.Text(200, c.Param("n")) },
		"/echo":       h.echo,
		"/drop":       h.drop,
		"/sleep/{n}":  h.sleep,
		"/panic":      func(*redline.Ctx) { panic("on purpose") },
		"/panic/late": func(*redline.Ctx) { time.Sleep(5 * time.Millisecond); panic("late, on purpose") },
		"/panic/midway": func(c *redline.Ctx) {
			_, _ = c.Write(make([]byte, 100<<10)) // the panic is what matters
			panic("midway, on purpose")
		},
		"/abort":  func(*redline.Ctx) { panic(redline.ErrAbort) },
		"/big":    big,
		"/static": func(c *redline.Ctx) { maybe(c.BytesNoCopy(200, "application/octet-stream", soakWhole)) },
		"/bytes":  func(c *redline.Ctx) { maybe(c.Bytes(200, "application/octet-stream", soakWhole)) },
		"/parts":  h.parts,
		"/file":   h.sendFile,
		"/short":  func(c *redline.Ctx) { c.SetContentLength(100); c.Text(200, "short") },
		"/stream": h.stream,
		"/hijack": h.hijack,
	} {
		answer := either(f, std[pattern])
		router.Handle("", pattern, func(c *redline.Ctx) {
			h.running.Add(1)
			defer h.running.Add(-1)
			answer(c)
		})
	}
	return router
}

func (h *hostileHandlers) echo(c *redline.Ctx) {
	body, err := c.ReadBody(1 << 20)
	if err != nil {
		c.Error(400)
		return
	}
	if err := c.Bytes(200, "application/octet-stream", body); err != nil {
		panic(err)
	}
}

// drop reads some of a body and leaves the rest, now and then late.
func (h *hostileHandlers) drop(c *redline.Ctx) {
	p := make([]byte, rand.IntN(64<<10))
	if _, err := c.Body().Read(p); err == nil && rand.IntN(4) == 0 {
		time.Sleep(2 * time.Millisecond)
	}
	c.Text(200, "dropped")
}

// sleep blocks, with an eye on its client or without.
func (h *hostileHandlers) sleep(c *redline.Ctx) {
	d := time.Duration(rand.IntN(20)) * time.Millisecond
	if rand.IntN(2) == 0 {
		time.Sleep(d)
	} else {
		select {
		case <-c.Context().Done():
		case <-time.After(d):
		}
	}
	c.Text(200, c.Param("n"))
}

// big writes the large answer part by part.
func big(c *redline.Ctx) {
	for i := range soakParts {
		if _, err := c.Write(soakWhole[i*soakPart : (i+1)*soakPart]); err != nil {
			return
		}
	}
}

// parts is big when the handler has returned.
func (h *hostileHandlers) parts(c *redline.Ctx) {
	c.Stream(func(s *redline.Stream) {
		h.running.Add(1)
		defer h.running.Add(-1)
		defer s.Close()
		for i := range soakParts {
			if _, err := s.Write(soakWhole[i*soakPart : (i+1)*soakPart]); err != nil {
				return
			}
		}
	})
}

// sendFile is big from a file, which it closes at once.
func (h *hostileHandlers) sendFile(c *redline.Ctx) {
	f, err := os.Open(h.file)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	maybe(c.SendFile(f, 0, int64(len(soakWhole))))
}

// stream numbers events, until the client has had enough or there is no more.
func (h *hostileHandlers) stream(c *redline.Ctx) {
	most := 1 + rand.IntN(200)
	c.Stream(func(s *redline.Stream) {
		h.running.Add(1)
		defer h.running.Add(-1)
		defer s.Close()
		if rand.IntN(8) == 0 {
			most = 1 << 30 // endless
		}
		for i := range most {
			if _, err := fmt.Fprintf(s, "%d\n", i); err != nil {
				return
			}
			if rand.IntN(20) == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	})
}

// hijack echoes what comes, up to a line, after its handler returned.
func (h *hostileHandlers) hijack(c *redline.Ctx) {
	nc, err := c.Hijack()
	if err != nil {
		return
	}
	h.running.Add(1)
	go func() {
		defer h.running.Add(-1)
		defer nc.Close()
		if err := nc.SetDeadline(time.Now().Add(soakWait)); err != nil {
			return
		}
		var line []byte
		for p := make([]byte, 1); ; {
			if _, err := nc.Read(p); err != nil {
				return
			}
			if line = append(line, p[0]); p[0] == '\n' {
				_, _ = nc.Write(line) // the client may have gone
				return
			}
		}
	}()
}

// wantParts reads the large answer.
func wantParts(body io.Reader) error {
	p := make([]byte, soakPart)
	for i := range soakParts {
		if _, err := io.ReadFull(body, p); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		if bytes.Count(p, []byte{byte(i)}) != len(p) {
			return fmt.Errorf("part %d is not what was written", i)
		}
	}
	if n, err := io.Copy(io.Discard, body); n != 0 || err != nil {
		return fmt.Errorf("%d bytes behind the last part, %w", n, err)
	}
	return nil
}

// wantEvents reads up to most events of stream.
func wantEvents(read func() (string, error), most int) error {
	for i := range most {
		line, err := read()
		if errors.Is(err, io.EOF) && line == "" {
			return nil
		}
		if err != nil || line != strconv.Itoa(i)+"\n" {
			return fmt.Errorf("event %d is %q, %w", i, line, err)
		}
	}
	return nil
}
