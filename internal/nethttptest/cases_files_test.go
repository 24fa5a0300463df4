package nethttptest

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"
	"time"
)

// modified is when the files of trials were changed.
var modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const modifiedText = "Fri, 02 Jan 2026 03:04:05 GMT"

// files is a file server over real files.
func files(o *observer) http.Handler {
	for name, content := range map[string]string{
		"a.txt": "0123456789", "page.html": "<html>", "index.html": "<index>", "sub/index.html": "<sub>", "dir/x": "x", "dir/y & z": "y", "large.bin": large, "noext": "%PDF-1.7",
	} {
		path := filepath.Join(o.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			panic(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			panic(err)
		}
		if err := os.Chtimes(path, modified, modified); err != nil {
			panic(err)
		}
	}
	for _, dir := range []string{"dir", "sub"} {
		if err := os.Chtimes(filepath.Join(o.dir, dir), modified, modified); err != nil {
			panic(err)
		}
	}
	return http.FileServer(http.Dir(o.dir))
}

// content serves a text with an ETag.
func content(_ *observer, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"x"`)
	http.ServeContent(w, r, "a.txt", modified, strings.NewReader("0123456789"))
}

// fileTrials are about files, ranges and conditions.
var fileTrials = []trial{
	{name: "files: paths", handler: files, play: askAll([]string{"/a.txt", "/page.html", "/", "/index.html", "/sub", "/sub/", "/sub/index.html", "/dir", "/dir/", "/none", "/a.txt/", "/noext", "/../a.txt", "/%2e%2e/a.txt", "/dir/y%20&%20z", "/a%00b"})},
	{name: "files: 1 MiB", handler: files, send: get("/large.bin")},
	{name: "files: 1 MiB over 1.0", handler: files, send: message("GET /large.bin HTTP/1.0")},
	{name: "files: pipelined", handler: files, play: []step{say(get("/a.txt") + get("/large.bin") + get("/page.html")), hear(3)}},
	{name: "files: HEAD", handler: files, play: head("/large.bin")},
	{name: "files: POST", handler: files, send: post("/a.txt", "hello")},
	{name: "files: range", handler: files, send: get("/a.txt", "Range: bytes=2-4")},
	{name: "files: range of 1 MiB", handler: files, send: get("/large.bin", "Range: bytes=100000-900000")},
	{name: "files: suffix range", handler: files, send: get("/a.txt", "Range: bytes=-3")},
	{name: "files: open range", handler: files, send: get("/a.txt", "Range: bytes=7-")},
	{name: "files: range for HEAD", handler: files, play: head("/a.txt", "Range: bytes=2-4")},
	{name: "files: range that cannot be", handler: files, send: get("/a.txt", "Range: bytes=20-30")},
	{name: "files: malformed range", handler: files, send: get("/a.txt", "Range: bytes=x")},
	{name: "files: range of the empty file", send: get("/", "Range: bytes=0-4"), handle: func(_ *observer, w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a", modified, bytes.NewReader(nil))
	}},
	{name: "files: several ranges", handler: fixedBoundary(files), send: get("/a.txt", "Range: bytes=0-1,5-6")},
	{name: "files: not modified since", handler: files, send: get("/a.txt", "If-Modified-Since: "+modifiedText)},
	{name: "files: unmodified since", handler: files, send: get("/a.txt", "If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT")},
	{name: "files: by ServeFile", send: get("/a.txt"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		files(o)
		http.ServeFile(w, r, filepath.Join(o.dir, "page.html"))
	}},
	{name: "files: of a file system in memory", handler: func(*observer) http.Handler {
		return http.FileServerFS(fstest.MapFS{"a.txt": {Data: []byte("hello"), ModTime: modified}, "b/c": {Data: []byte("c"), ModTime: modified}})
	}, play: askAll([]string{"/a.txt", "/b/", "/b/c", "/none"})},
	{name: "content: matches If-None-Match", handle: content, send: get("/", `If-None-Match: "y", W/"x"`)},
	{name: "content: matches If-None-Match for HEAD", handle: content, play: head("/", `If-None-Match: "x"`)},
	{name: "content: matches no If-None-Match", handle: content, send: get("/", `If-None-Match: "y"`)},
	{name: "content: If-Match fails", handle: content, send: get("/", `If-Match: "y"`)},
	{name: "content: If-Match holds", handle: content, send: get("/", `If-Match: "x"`)},
	{name: "content: If-Range holds", handle: content, send: get("/", `If-Range: "x"`, "Range: bytes=0-1")},
	{name: "content: If-Range fails", handle: content, send: get("/", `If-Range: "y"`, "Range: bytes=0-1")},
	{name: "content: coding is the handler's", send: get("/"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		content(o, w, r)
	}},
}

// fixedBoundary replaces what separates parts, which is random, wherever it
// appears.
func fixedBoundary(h func(o *observer) http.Handler) func(o *observer) http.Handler {
	return func(o *observer) http.Handler {
		inner := h(o)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inner.ServeHTTP(&boundaryWriter{ResponseWriter: w}, r)
		})
	}
}

type boundaryWriter struct {
	http.ResponseWriter
	boundary string
}

func (b *boundaryWriter) WriteHeader(status int) {
	h := b.Header()
	if kind, boundary, ok := strings.Cut(h.Get("Content-Type"), "boundary="); ok {
		b.boundary = boundary
		h.Set("Content-Type", kind+"boundary="+b.fixed())
	}
	b.ResponseWriter.WriteHeader(status)
}

func (b *boundaryWriter) fixed() string { return strings.Repeat("b", len(b.boundary)) }

func (b *boundaryWriter) Write(p []byte) (int, error) {
	if b.boundary != "" {
		p = bytes.ReplaceAll(p, []byte(b.boundary), []byte(b.fixed()))
	}
	return b.ResponseWriter.Write(p)
}
