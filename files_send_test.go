package redline_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// bigFile writes n bytes that nothing repeats and returns the file's directory.
func bigFile(t *testing.T, n int) (dir string, content []byte) {
	t.Helper()
	content = make([]byte, n)
	src := rand.NewChaCha8([32]byte{1})
	if _, err := src.Read(content); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "big.bin"), content, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, content
}

func rootOf(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// narrow bounds what the client's kernel takes without being read.
func (c *client) narrow() {
	c.t.Helper()
	if err := c.tcp().SetReadBuffer(64 << 10); err != nil {
		c.t.Fatal(err)
	}
}

const mega = 1 << 20

// TestFileToSlowReader sends 64 MiB to a client that stops in the middle. The
// loop has time for others meanwhile.
func TestFileToSlowReader(t *testing.T) {
	dir, content := bigFile(t, 64*mega)
	root := rootOf(t, dir)
	onEach(t, func(t *testing.T, name redline.Transport) {
		srv := serve(t, &redline.Server{Transport: name, StallTimeout: -1, Native: mount(root, redline.FileOptions{})})
		slow := srv.dial()
		slow.narrow()
		slow.ask("/s/big.bin")
		resp := slow.response()
		if resp.StatusCode != 200 || resp.ContentLength != 64*mega || resp.Header.Get("Content-Type") != "application/octet-stream" {
			t.Fatal(resp)
		}
		p := make([]byte, mega)
		for at := 0; at < len(content); at += len(p) {
			if at == 8*mega {
				// Nobody reads: sending has to wait, others have not.
				for range 100 {
					if resp, body := fetch(t, srv, "GET", "/s/big.bin", "Range: bytes=-3"); resp.StatusCode != 206 || body != string(content[len(content)-3:]) {
						t.Fatal(resp)
					}
				}
			}
			if _, err := io.ReadFull(resp.Body, p); err != nil {
				t.Fatal(at, err)
			}
			if !bytes.Equal(p, content[at:at+len(p)]) {
				t.Fatalf("wrong bytes in %d", at)
			}
		}
		if n, err := resp.Body.Read(p); n != 0 || err != io.EOF {
			t.Fatal(n, err)
		}
		// The connection goes on.
		slow.ask("/s/none")
		if status, _ := slow.answer(); status != 404 {
			t.Error(status)
		}
	})
}

// TestFileDescriptors looks for files that were not closed, with all that can
// happen to them. The garbage collector, which closes what is lost, is off.
func TestFileDescriptors(t *testing.T) {
	dir, content := bigFile(t, 8*mega)
	root := rootOf(t, dir)
	for name, text := range map[string]string{"a.js": "a", "a.js.gz": "z", "d/index.html": "i"} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	onEach(t, func(t *testing.T, name redline.Transport) {
		defer debug.SetGCPercent(debug.SetGCPercent(-1))
		srv := serve(t, &redline.Server{Transport: name, Native: mount(root, redline.FileOptions{Precompressed: true})})
		fetch(t, srv, "GET", "/s/a.js") // loops have all they need from now on
		until(t, "its connection is closed", func() bool { return srv.Stats().Open == 0 })
		before := openFiles()
		for range 10 {
			for _, tt := range []struct {
				method, target, line string
				status               int
			}{
				{"GET", "/s/a.js", "", 200},
				{"HEAD", "/s/a.js", "", 200},
				{"HEAD", "/s/big.bin", "", 200},
				{"GET", "/s/a.js", "Accept-Encoding: gzip", 200},
				{"GET", "/s/d/", "", 200},
				{"GET", "/s/d", "", 301},
				{"GET", "/s/a.js/", "", 404},
				{"GET", "/s/a.js", "If-None-Match: *", 304},
				{"GET", "/s/a.js", `If-Match: "x"`, 412},
				{"GET", "/s/a.js", "Range: bytes=9-", 416},
				{"GET", "/s/big.bin", "Range: bytes=9-20000", 206},
				{"GET", "/s/big.bin", "Range: bytes=9-20000, 30000-40000", 206},
			} {
				if resp, _ := fetch(t, srv, tt.method, tt.target, "X-A: b", tt.line+"\r\nX-B: c"); resp.StatusCode != tt.status && tt.line != "" {
					t.Errorf("%s %s %s: %d", tt.method, tt.target, tt.line, resp.StatusCode)
				}
			}
		}
		for i := range 20 {
			c := srv.dial()
			c.narrow()
			c.ask("/s/big.bin", "/s/big.bin")
			resp := c.response()
			p := make([]byte, 1+i*10_000)
			if _, err := io.ReadFull(resp.Body, p); err != nil || !bytes.Equal(p, content[:len(p)]) {
				t.Fatal(i, err)
			}
			if i%2 == 0 {
				c.reset()
			} else {
				c.Close()
			}
		}
		until(t, "all files are closed", func() bool { return openFiles() <= before })
	})
}

// TestFileToDeafReader sends to a client that never reads: the write deadline
// ends it.
func TestFileToDeafReader(t *testing.T) {
	dir, _ := bigFile(t, 16*mega)
	root := rootOf(t, dir)
	onEach(t, func(t *testing.T, name redline.Transport) {
		ended := make(chan error, 1)
		srv := serve(t, &redline.Server{Transport: name, StallTimeout: 100 * time.Millisecond, Native: func(c *redline.Ctx) {
			f, err := root.Open("big.bin")
			if err != nil {
				t.Error(err)
			}
			defer f.Close()
			ended <- c.ServeFile(f)
		}})
		c := srv.dial()
		c.narrow()
		c.ask("/")
		if err := receive(t, ended, "the write deadline ends the handler"); err == nil {
			t.Error("a client that took nothing has taken all")
		}
		until(t, "the connection is closed", func() bool { return srv.Stats().Open == 0 })
	})
}

// TestFileCutShort truncates a file while it is sent: the length is announced, so
// the connection has to be cut, and must not hang.
func TestFileCutShort(t *testing.T) {
	onEach(t, func(t *testing.T, name redline.Transport) {
		dir, content := bigFile(t, 16*mega)
		root := rootOf(t, dir)
		ended := make(chan error, 1)
		srv := serve(t, &redline.Server{Transport: name, Native: func(c *redline.Ctx) {
			f, err := root.Open("big.bin")
			if err != nil {
				t.Error(err)
			}
			defer f.Close()
			ended <- c.ServeFile(f)
		}})
		c := srv.dial()
		c.narrow()
		c.ask("/", "/")
		resp := c.response()
		p := make([]byte, mega)
		if _, err := io.ReadFull(resp.Body, p); err != nil || !bytes.Equal(p, content[:mega]) {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, "big.bin"), mega); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(resp.Body)
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || len(rest) >= 15*mega {
			t.Errorf("read %d bytes more: %v", len(rest), err)
		}
		for i, b := range rest {
			// The kernel sends from the file's own pages, and blanks those
			// that a cut goes through: what is on its way can turn zero.
			if b != content[mega+i] && b != 0 {
				t.Fatalf("wrong byte %d", mega+i)
			}
		}
		if err := receive(t, ended, "the handler is told"); err == nil {
			t.Error("the handler was told that all is sent")
		}
	})
}

// sendFiles has handlers that send a file of one megabyte as a body, or as a part
// of one.
func sendFiles(t *testing.T, root *os.Root) redline.HandlerFunc {
	check := func(t *testing.T, err error) {
		if err != nil {
			t.Error(err)
		}
	}
	r := redline.NewRouter()
	handle := func(pattern string, h func(c *redline.Ctx, f *os.File)) {
		r.GET(pattern, func(c *redline.Ctx) {
			f, err := root.Open("big.bin")
			check(t, err)
			defer f.Close()
			h(c, f)
		})
	}
	handle("/whole", func(c *redline.Ctx, f *os.File) { check(t, c.SendFile(f, 0, mega)) })
	handle("/part", func(c *redline.Ctx, f *os.File) { check(t, c.SendFile(f, 5, 100)) })
	handle("/none", func(c *redline.Ctx, f *os.File) { check(t, c.SendFile(f, 5, 0)) })
	handle("/framed", func(c *redline.Ctx, f *os.File) {
		c.SetContentLength(mega + 2)
		_, err := c.WriteString("<")
		check(t, err)
		check(t, c.SendFile(f, 0, mega))
		_, err = c.WriteString(">")
		check(t, err)
	})
	handle("/chunked", func(c *redline.Ctx, f *os.File) {
		_, err := c.WriteString("<")
		check(t, err)
		check(t, c.SendFile(f, 0, mega))
		check(t, c.SendFile(f, 7, 3))
		_, err = c.WriteString(">")
		check(t, err)
	})
	handle("/trailer", func(c *redline.Ctx, f *os.File) {
		check(t, c.SetTrailer("X-Sum", "1"))
		check(t, c.SendFile(f, 0, mega))
	})
	handle("/too-long", func(c *redline.Ctx, f *os.File) {
		c.SetContentLength(3)
		if err := c.SendFile(f, 0, 4); err == nil {
			t.Error("more was sent than announced")
		}
		check(t, c.SendFile(f, 0, 3))
	})
	handle("/no-content", func(c *redline.Ctx, f *os.File) {
		c.Status(204)
		if err := c.SendFile(f, 0, 4); c.Method() == "GET" && err == nil {
			t.Error("204 has a body")
		}
	})
	handle("/invalid", func(c *redline.Ctx, f *os.File) {
		for _, err := range []error{c.SendFile(nil, 0, 1), c.SendFile(f, -1, 1), c.SendFile(f, 0, -1)} {
			if !errors.Is(err, os.ErrInvalid) {
				t.Error(err)
			}
		}
		c.Text(200, "fine")
	})
	return r.Serve
}

// TestSendFile sends files as bodies and as parts of them.
func TestSendFile(t *testing.T) {
	dir, content := bigFile(t, mega)
	text := string(content)
	h := sendFiles(t, rootOf(t, dir))
	onEach(t, func(t *testing.T, name redline.Transport) {
		srv := serve(t, &redline.Server{Transport: name, Native: h})
		for _, tt := range []struct {
			target, body string
			length       int64
			status       int
		}{
			{"/whole", text, mega, 200},
			{"/part", text[5:105], 100, 200},
			{"/none", "", 0, 200},
			{"/framed", "<" + text + ">", mega + 2, 200},
			{"/chunked", "<" + text + text[7:10] + ">", -1, 200},
			{"/trailer", text, -1, 200},
			{"/too-long", text[:3], 3, 200},
			{"/no-content", "", 0, 204},
			{"/invalid", "fine", 4, 200},
		} {
			resp, body := fetch(t, srv, "GET", tt.target)
			if resp.StatusCode != tt.status || body != tt.body || resp.ContentLength != tt.length {
				t.Errorf("%s: %d, %d bytes, length %d", tt.target, resp.StatusCode, len(body), resp.ContentLength)
			}
			if tt.target == "/trailer" && resp.Trailer.Get("X-Sum") != "1" {
				t.Errorf("trailer: %v", resp.Trailer)
			}
			if tt.target == "/too-long" {
				continue // no file, no error: HEAD has no body to be too long
			}
			resp, body = fetch(t, srv, "HEAD", tt.target)
			if resp.StatusCode != tt.status || body != "" || tt.length > 0 && resp.ContentLength != tt.length {
				t.Errorf("HEAD %s: %d, length %d", tt.target, resp.StatusCode, resp.ContentLength)
			}
		}
		// Pipelined: each answer whole, in order.
		c := srv.dial()
		c.ask("/part", "/whole", "/chunked", "/framed", "/part")
		for _, want := range []string{text[5:105], text, "<" + text + text[7:10] + ">", "<" + text + ">", text[5:105]} {
			if status, got := c.answer(); status != 200 || got != want {
				t.Fatalf("pipelined: %d, %d bytes, want %d", status, len(got), len(want))
			}
		}
		c.Close()
		until(t, "the handlers have returned", func() bool { return srv.Stats().Open == 0 })
	})
}
