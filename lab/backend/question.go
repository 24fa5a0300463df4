//go:build linux

package backend

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const wordSize = 8

// readWord parses a question of eight bytes, which are also the answer.
func readWord(question []byte) (time.Duration, []byte, error) {
	if len(question) != wordSize || binary.LittleEndian.Uint64(question) > uint64(Longest) {
		return 0, nil, fmt.Errorf("%w: % x", ErrQuestion, question)
	}
	return time.Duration(binary.LittleEndian.Uint64(question)), bytes.Clone(question), nil
}

// answers holds the responses to GET /part?n=1, 2 and 3.
var answers = func() (all [len(Parts)][]byte) {
	for i, p := range Parts {
		all[i] = fmt.Appendf(nil, "HTTP/1.1 %d OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s", http.StatusOK, len(p), p)
	}
	return all
}()

// readRequest parses GET /part?n=1&wait=300us: a complete head without a body.
func readRequest(question []byte) (time.Duration, []byte, error) {
	line, rest, _ := bytes.Cut(question, []byte("\r\n"))
	query, ok := bytes.CutPrefix(line, []byte("GET /part?"))
	query, whole := bytes.CutSuffix(query, []byte(" HTTP/1.1"))
	if !ok || !whole || bytes.Index(rest, []byte("\r\n\r\n")) != len(rest)-4 {
		return 0, nil, fmt.Errorf("%w: %.100q", ErrQuestion, question)
	}
	values, err := url.ParseQuery(string(query))
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrQuestion, err)
	}
	n, err1 := strconv.Atoi(values.Get("n"))
	wait, err2 := time.ParseDuration(values.Get("wait"))
	if err1 != nil || err2 != nil || n < 1 || n > len(answers) || wait < 0 || wait > Longest {
		return 0, nil, fmt.Errorf("%w: %.100q", ErrQuestion, line)
	}
	return wait, answers[n-1], nil
}
