//go:build linux

package peers_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/redline-go/redline/peers/internal/subject"
)

// TestBigUploads sends bodies up to the limit, and looks at how much memory the
// subject needed at most.
func TestBigUploads(t *testing.T) {
	tests := []struct {
		size    int
		chunked bool
	}{
		{8 << 20, false},
		{8 << 20, true},
		{subject.BodyLimit, false},
		{subject.BodyLimit, true},
	}
	each(t, stacks, func(t *testing.T, name string) {
		p := start(t, name)
		c := p.dial(t)
		for _, test := range tests {
			// Less than the body, but never less than what garbage comes to: a
			// collector that gets little of a busy machine leaves more of it.
			bound := max(test.size/4*3, 24<<20)
			grown := p.grows(t, c, test.size, test.chunked)
			for try := 0; grown > bound && try < 2; try++ { // who holds the body does so each time
				p = start(t, name)
				c = p.dial(t)
				grown = p.grows(t, c, test.size, test.chunked)
			}
			if grown > bound {
				t.Errorf("%+v took %d bytes of memory, more than %d", test, grown, bound)
			}
		}
	})
}

// grows sends a body and returns by how much the peak of the memory has risen.
func (p *process) grows(t *testing.T, c *client, size int, chunked bool) int {
	t.Helper()
	before := p.peakMemory(t)
	if err := c.upload(size, chunked); err != nil {
		t.Fatal(err)
	}
	answer, body := c.answer(t, http.MethodPost)
	if answer.StatusCode != http.StatusOK || string(body) != strconv.Itoa(size) {
		t.Errorf("%d bytes, chunked %v: %s with %.40q", size, chunked, answer.Status, body)
	}
	return p.peakMemory(t) - before
}

func TestTooBigUploads(t *testing.T) {
	each(t, stacks, func(t *testing.T, name string) {
		p := start(t, name)
		for _, chunked := range []bool{false, true} {
			c := p.dial(t)
			refused := make(chan error, 1)
			go func() {
				answer, err := http.ReadResponse(c.in, &http.Request{Method: http.MethodPost})
				switch {
				case err != nil:
					err = nil // closed without an answer is allowed
				case answer.StatusCode != http.StatusRequestEntityTooLarge:
					err = fmt.Errorf("%s, want 413", answer.Status)
				}
				refused <- err
			}()
			// The subject may close at any time: an error here says nothing.
			c.upload(subject.BodyLimit+1, chunked)
			if err := <-refused; err != nil {
				t.Errorf("chunked %v: %v", chunked, err)
			}
		}
		c := p.dial(t)
		c.send(t, get)
		if answer, _ := c.answer(t, http.MethodGet); answer.StatusCode != http.StatusOK {
			t.Errorf("the next request gets %s", answer.Status)
		}
	})
}

// upload sends a POST of size bytes.
func (c *client) upload(size int, chunked bool) error {
	block := make([]byte, 64<<10)
	framing := fmt.Sprintf("Content-Length: %d", size)
	if chunked {
		framing = "Transfer-Encoding: chunked"
	}
	if _, err := fmt.Fprintf(c, "POST /upload HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", framing); err != nil {
		return err
	}
	for left := size; left > 0; {
		n := min(left, len(block))
		left -= n
		var err error
		if chunked {
			_, err = fmt.Fprintf(c, "%x\r\n%s\r\n", n, block[:n])
		} else {
			_, err = c.Write(block[:n])
		}
		if err != nil {
			return err
		}
	}
	if chunked {
		_, err := io.WriteString(c, "0\r\n\r\n")
		return err
	}
	return nil
}

var peakLine = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

// peakMemory is the most memory that was ever resident, in bytes.
func (p *process) peakMemory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	match := peakLine.FindSubmatch(status)
	if match == nil {
		t.Fatalf("no VmHWM in %s", status)
	}
	kilobytes, err := strconv.Atoi(string(match[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
