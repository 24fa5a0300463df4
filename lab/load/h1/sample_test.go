package h1

import (
	"bytes"
	"fmt"
	"testing"
)

// A body counts as another one if the beginning of the first of its size differs, however it arrives.
func TestSample(t *testing.T) {
	s := NewSample([]byte("GET / HTTP/1.1\r\n\r\n"))
	j := Judge{Rules: &Rules{AnyBody: true, Sample: s}}
	answer := func(status int, pieces ...string) {
		j.Begin(status)
		for _, p := range pieces {
			j.Take([]byte(p))
		}
		j.End(false)
	}
	answer(200, "hello")
	answer(200, "he", "llo")
	if s.Compared != 1 || s.Differed != 0 {
		t.Errorf("the same twice: %+v", s)
	}
	answer(200, "error")
	answer(200, "longer")
	if s.Compared != 2 || s.Differed != 1 {
		t.Errorf("another, and the first of its size: %+v", s)
	}
	long := string(bytes.Repeat([]byte("x"), sampledBytes))
	answer(200, long, "end")
	answer(200, long[:5], long[5:], "END")
	if s.Compared != 3 || s.Differed != 1 {
		t.Errorf("another end of a long one: %+v", s)
	}
	s.Reset()
	for i := range 100 * sampledEvery {
		answer(200, fmt.Sprintf("%5d", i))
	}
	if n := s.Compared; n < 100 || n > 100+sampledAll || s.Differed != n {
		t.Errorf("%d of 1600 compared, %d differed", n, s.Differed)
	}
	for i := range 1000 {
		answer(200, long[:i])
	}
	if len(s.first) > sampledSizes {
		t.Errorf("%d sizes are kept", len(s.first))
	}
	if NewSample([]byte("HEAD / HTTP/1.1\r\n\r\n")) != nil {
		t.Error("bodies of answers to HEAD")
	}
}
