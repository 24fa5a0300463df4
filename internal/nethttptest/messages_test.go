package nethttptest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// message is a request's head of these lines, and what follows it.
func message(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n" }

// get is a request for a path with these field lines.
func get(path string, fields ...string) string {
	return message(append([]string{"GET " + path + " HTTP/1.1", "Host: h"}, fields...)...)
}

// post is a request with content of known length.
func post(path, content string, fields ...string) string {
	fields = append(fields, fmt.Sprintf("Content-Length: %d", len(content)))
	return message(append([]string{"POST " + path + " HTTP/1.1", "Host: h"}, fields...)...) + content
}

// postChunked is a request whose content comes in these chunks.
func postChunked(path string, chunks ...string) string {
	return postCoded(path, encode(chunks...)+"0\r\n\r\n")
}

// postCoded is a request with content in the chunked coding, as it stands.
func postCoded(path, coded string, fields ...string) string {
	fields = append(fields, "Transfer-Encoding: chunked")
	return message(append([]string{"POST " + path + " HTTP/1.1", "Host: h"}, fields...)...) + coded
}

// encode is chunks in their coding, without the last one.
func encode(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(c), c)
	}
	return b.String()
}

// closing is a field line.
const closing = "Connection: close"

// look writes the request down with its content, and answers it.
func look(o *observer, w http.ResponseWriter, r *http.Request) {
	o.request(r)
	o.open("called")
	o.read(r.Body)
	if len(r.Trailer) > 0 {
		o.header("Trailer", r.Trailer)
	}
	put(o, w, "ok")
}

// put writes text and takes note when it cannot.
func put(o *observer, w io.Writer, s string) {
	if n, err := io.WriteString(w, s); n != len(s) || err != nil {
		o.note("%d of %d bytes are written: %s", n, len(s), describe(err))
	}
}

// text answers with a text. Like look, it opens the gate called first.
func text(s string) func(o *observer, w http.ResponseWriter, r *http.Request) {
	return func(o *observer, w http.ResponseWriter, _ *http.Request) {
		o.open("called")
		put(o, w, s)
	}
}

// panics runs f, and writes down with what it panics.
func panics(o *observer, what string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			o.note("%s panics: %v", what, p)
		}
	}()
	f()
}

// lookBriefly writes down how many fields there are.
func lookBriefly(o *observer, _ http.ResponseWriter, r *http.Request) {
	o.note("%d fields", len(r.Header))
}
