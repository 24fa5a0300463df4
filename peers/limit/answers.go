package main

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/redline-go/redline/peers/internal/subject"
)

// answers is a sequence of identical, finished responses, so that any number of them can be
// sent in one write.
type answers struct {
	size int // bytes of one response
	date int // offset of its date
	text []byte
}

func newAnswers(now time.Time) *answers {
	head := "HTTP/1.1 200 OK\r\nServer: limit\r\nDate: "
	one := fmt.Sprintf("%s%s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s",
		head, now.UTC().Format(http.TimeFormat), len(subject.Hello), subject.Hello)
	return &answers{size: len(one), date: len(head), text: []byte(one)}
}

// take returns n responses in a row. The slice is valid until the next call of a method.
func (a *answers) take(n int) []byte {
	for len(a.text) < n*a.size {
		a.text = append(a.text, a.text...)
	}
	return a.text[:n*a.size]
}

// refresh puts now into all of them.
func (a *answers) refresh(now time.Time) {
	var date [len(http.TimeFormat)]byte
	now.UTC().AppendFormat(date[:0], http.TimeFormat)
	for at := a.date; at < len(a.text); at += a.size {
		copy(a.text[at:], date[:])
	}
}

// chunk frames a text as a chunk, RFC 9112, section 7.1, and says where it begins.
func chunk(text []byte) (framed []byte, at int) {
	framed = strconv.AppendInt(nil, int64(len(text)), 16)
	framed = append(framed, "\r\n"...)
	at = len(framed)
	return append(append(framed, text...), "\r\n"...), at
}
