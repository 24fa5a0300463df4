package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

const head = "GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"

// oracle counts as countHeads does, in the plainest way.
func oracle(b []byte) (heads, matched int) {
	for len(b) > 0 {
		i := bytes.Index(b, []byte("\r\n\r\n"))
		if i < 0 {
			break
		}
		heads++
		b = b[i+4:]
	}
	for matched = 3; !bytes.HasSuffix(b, []byte("\r\n\r\n")[:matched]); matched-- {
	}
	return heads, matched
}

func TestCountHeads(t *testing.T) {
	browser := "GET / HTTP/1.1\r\nCookie: " + strings.Repeat("a=b; ", 150) + "\r\n\r\n"
	tests := []struct {
		name, in       string
		heads, matched int
	}{
		{"nothing", "", 0, 0},
		{"the end alone", "\r\n\r\n", 1, 0},
		{"one", head, 1, 0},
		{"one without its last byte", head[:len(head)-1], 0, 3},
		{"one with a byte of the next", head + "G", 1, 0},
		{"sixteen", strings.Repeat(head, 16), 16, 0},
		{"browser headers", browser, 1, 0},
		{"browser headers, four times", strings.Repeat(browser, 4), 4, 0},
		{"ends that overlap", "\r\n\r\n\r\n", 1, 2},
		{"ends in a row", strings.Repeat("\r\n", 8), 4, 0},
		{"a CR too many", "a\r\r\n\r\n", 1, 0},
		{"a broken end", "a\r\n\r\r\n\r\n", 1, 0},
		{"a broken end at the end", "a\r\n\r\r", 0, 1},
		{"bare LF", "a\n\n\n\nb", 0, 0},
		{"control characters", "\x01\t\x00\r\n\r\n\x02", 1, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			checkSplits(t, []byte(test.in), test.heads, test.matched)
		})
	}
}

// checkSplits counts in whole, in two parts for every split, and byte by byte.
func checkSplits(t *testing.T, in []byte, heads, matched int) {
	t.Helper()
	check := func(how string, parts ...[]byte) {
		t.Helper()
		n, m := 0, 0
		for _, part := range parts {
			var more int
			more, m = countHeads(part, m)
			n += more
		}
		if n != heads || m != matched {
			t.Errorf("%s: %d heads and %d bytes matched, want %d and %d, of %.80q", how, n, m, heads, matched, in)
		}
	}
	check("whole", in)
	for i := range len(in) + 1 {
		check(fmt.Sprintf("split at %d", i), in[:i], in[i:])
	}
	var single [][]byte
	for i := range in {
		single = append(single, in[i:i+1])
	}
	check("byte by byte", single...)
}

func FuzzCountHeads(f *testing.F) {
	for _, seed := range []string{"", head, "\r\n\r\n\r", "\r\n\r\r\n\r\n", strings.Repeat("\r\n\r\n", 5), "\n\r\n\r\n\r"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		in = in[:min(len(in), 300)]
		heads, matched := oracle(in)
		checkSplits(t, in, heads, matched)
		// Noise hardly holds the sequence: map it onto the four bytes that matter.
		for i := range in {
			in[i] = "\r\n\r\na\n"[in[i]%6]
		}
		heads, matched = oracle(in)
		checkSplits(t, in, heads, matched)
	})
}

func BenchmarkCountHeads(b *testing.B) {
	browser := strings.Replace(head, "\r\n\r\n", "\r\nCookie: "+strings.Repeat("name=value; ", 62)+"\r\n\r\n", 1)
	for _, bench := range []struct {
		name, in string
	}{{"short", head}, {"browser", browser}, {"pipelined", strings.Repeat(head, 16)}} {
		b.Run(bench.name, func(b *testing.B) {
			in := []byte(bench.in)
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				countHeads(in, 0)
			}
		})
	}
}
