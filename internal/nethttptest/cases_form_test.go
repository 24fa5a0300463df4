package nethttptest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

const urlEncoded = "Content-Type: application/x-www-form-urlencoded"

// multipartOf is content in the form multipart/form-data, whose boundary is B.
func multipartOf(parts ...string) string {
	return "--B\r\n" + strings.Join(parts, "\r\n--B\r\n") + "\r\n--B--\r\n"
}

var (
	field    = "Content-Disposition: form-data; name=\"a\"\r\n\r\nvalue"
	file     = "Content-Disposition: form-data; name=\"f\"; filename=\"dir/x.txt\"\r\nContent-Type: text/x\r\n\r\nthe file"
	bigFile  = "Content-Disposition: form-data; name=\"f\"; filename=\"big\"\r\n\r\n" + large[:100<<10]
	multi    = "Content-Type: multipart/form-data; boundary=B"
	sendForm = func(content string, fields ...string) string {
		return post("/?a=query&b=query", content, append(fields, urlEncoded)...)
	}
)

// form parses the form and writes it down.
func form(o *observer, w http.ResponseWriter, r *http.Request) {
	o.err("ParseForm", r.ParseForm())
	o.note("form %q", r.Form)
	o.note("post form %q", r.PostForm)
	o.note("a %q, b %q, post a %q", r.FormValue("a"), r.FormValue("b"), r.PostFormValue("a"))
	put(o, w, "ok")
}

// multipartForm parses a form that may have files, with bytes kept in memory.
func multipartForm(memory int64) func(o *observer, w http.ResponseWriter, r *http.Request) {
	return func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("ParseMultipartForm", r.ParseMultipartForm(memory))
		o.note("a %q", r.FormValue("a"))
		f, h, err := r.FormFile("f")
		o.err("FormFile", err)
		if err == nil {
			o.note("%q, %d bytes, %d fields", h.Filename, h.Size, len(h.Header))
			o.read(f)
			o.err("close", f.Close())
		}
		if r.MultipartForm != nil {
			o.note("values %q, files %v", r.MultipartForm.Value, slices.Sorted(maps.Keys(r.MultipartForm.File)))
			o.err("RemoveAll", r.MultipartForm.RemoveAll())
		}
	}
}

// parts reads part by part.
func parts(o *observer, _ http.ResponseWriter, r *http.Request) {
	m, err := r.MultipartReader()
	o.err("MultipartReader", err)
	if err != nil {
		return
	}
	for {
		p, err := m.NextPart()
		if err != nil {
			o.err("NextPart", err)
			break
		}
		o.note("part %q, file %q, %q", p.FormName(), p.FileName(), p.Header)
		o.read(p)
	}
	_, err = r.MultipartReader()
	o.err("MultipartReader again", err)
}

// formTrials are about forms, uploads and bounds of content.
var formTrials = []trial{
	{name: "form: url-encoded", handle: form, send: sendForm("a=1&a=2&c=%41+x&d")},
	{name: "form: chunked", handle: form, send: postCoded("/", encode("a=1", "&b=2")+"0\r\n\r\n", urlEncoded)},
	{name: "form: malformed", handle: form, send: sendForm("a=%zz&b=1;c")},
	{name: "form: no type", handle: form, send: post("/?a=query", "a=1")},
	{name: "form: malformed type", handle: form, send: post("/", "a=1", "Content-Type: a/b; ;=")},
	{name: "form: GET with content", handle: form, send: message("GET /?a=query HTTP/1.1", "Host: h", urlEncoded, "Content-Length: 3") + "a=1"},
	{name: "form: PUT and DELETE", handle: form, play: []step{
		say(message("PUT / HTTP/1.1", "Host: h", urlEncoded, "Content-Length: 3") + "a=1"), hear(1),
		say(message("DELETE / HTTP/1.1", "Host: h", urlEncoded, "Content-Length: 3") + "a=1"), hear(2),
	}},
	{name: "form: content ends early", differs: &ends, handle: form, play: []step{say(message("POST / HTTP/1.1", "Host: h", urlEncoded, "Content-Length: 9") + "a=1"), half()}},
	{name: "form: over 10 MB", handle: form, send: sendForm("a=" + strings.Repeat(large[:0]+"x", 11<<20))},
	{name: "form: over MaxBytesReader", send: sendForm("a=" + strings.Repeat("x", 100)), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 10)
		form(o, w, r)
	}},

	{name: "multipart: field and file", handle: multipartForm(1 << 20), send: post("/?a=query", multipartOf(field, file), multi)},
	{name: "multipart: file on disk", handle: multipartForm(0), send: post("/", multipartOf(field, bigFile), multi)},
	{name: "multipart: chunked", handle: multipartForm(1 << 20), send: postCoded("/", encode(multipartOf(field, file)[:50], multipartOf(field, file)[50:])+"0\r\n\r\n", multi)},
	{name: "multipart: cut short", handle: multipartForm(1 << 20), send: post("/", multipartOf(field, file)[:100], multi)},
	{name: "multipart: no boundary", handle: multipartForm(1 << 20), send: post("/", multipartOf(field), "Content-Type: multipart/form-data")},
	{name: "multipart: other type", handle: multipartForm(1 << 20), send: post("/", "x", "Content-Type: text/plain")},
	{name: "multipart: no content", handle: multipartForm(1 << 20), send: message("POST / HTTP/1.1", "Host: h", multi)},
	{name: "multipart: part by part", handle: parts, send: post("/", multipartOf(field, file, bigFile), multi)},
	{name: "multipart: part by part, other type", handle: parts, send: post("/", "x", "Content-Type: text/plain")},
	{name: "multipart: part by part, as it comes", handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		m, err := r.MultipartReader()
		o.err("MultipartReader", err)
		p, err := m.NextPart()
		o.err("NextPart", err)
		o.read(p)
		o.open("first")
		p, err = m.NextPart()
		o.err("NextPart", err)
		o.read(p)
	}, play: []step{
		say(message("POST / HTTP/1.1", "Host: h", multi, fmt.Sprintf("Content-Length: %d", len(multipartOf(field, file)))) + multipartOf(field, file)[:60]),
		say(multipartOf(field, file)[60:100]), pass("first"), say(multipartOf(field, file)[100:]), hear(1),
	}},
	{name: "multipart: form behind reader", send: post("/", multipartOf(field, file), multi), handle: func(o *observer, _ http.ResponseWriter, r *http.Request) {
		_, err := r.MultipartReader()
		o.err("MultipartReader", err)
		o.err("ParseMultipartForm", r.ParseMultipartForm(100))
	}},
	{name: "json: decoded and encoded", send: post("/", `{"A": [1, 2], "B": "x"}`+"\n", "Content-Type: application/json"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		var v struct {
			A []int
			B string
		}
		o.err("decode", json.NewDecoder(r.Body).Decode(&v))
		w.Header().Set("Content-Type", "application/json")
		o.err("encode", json.NewEncoder(w).Encode(v))
	}},

	{name: "MaxBytesReader: within", send: post("/", "hello"), handle: limited(5)},
	{name: "MaxBytesReader: beyond, small", send: post("/", "hello!") + get("/next"), handle: limited(5)},
	{name: "MaxBytesReader: beyond, chunked", send: postChunked("/", "hel", "lo!"), handle: limited(5)},
	{name: "MaxBytesReader: beyond, answered with 413", send: post("/", "hello!") + get("/next"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 5))
		o.err("read", err)
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
	}},
	{name: "MaxBytesReader: beyond, 1 MiB", send: post("/", large), handle: limited(1000)},
	{name: "MaxBytesReader: beyond, behind a flush", send: post("/", "hello!"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		o.err("full duplex", http.NewResponseController(w).EnableFullDuplex())
		put(o, w, "begin")
		flush(w)
		_, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 5))
		o.err("read", err)
	}},
	{name: "MaxBytesReader: not reached", differs: &tooLarge, send: post("/", "hello!"), handle: func(o *observer, w http.ResponseWriter, r *http.Request) {
		b := make([]byte, 3)
		n, err := http.MaxBytesReader(w, r.Body, 5).Read(b)
		o.note("%d, %s", n, describe(err))
	}},
}

// limited reads content of at most n bytes.
func limited(n int64) func(o *observer, w http.ResponseWriter, r *http.Request) {
	return func(o *observer, w http.ResponseWriter, r *http.Request) {
		body := http.MaxBytesReader(w, r.Body, n)
		b := o.read(body)
		o.read(body)
		o.err("close", body.Close())
		put(o, w, fmt.Sprint(len(b)))
	}
}
