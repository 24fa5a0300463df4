package exchange

import (
	"net/http"
	"strings"
	"testing"
)

func TestLookupHeader(t *testing.T) {
	if NumHeaders > 64 {
		t.Fatalf("%d headers do not fit a word of bits", NumHeaders)
	}
	for i := 1; i < NumHeaders; i++ {
		id := HeaderID(i)
		name := id.String()
		if name == "" || name != http.CanonicalHeaderKey(name) {
			t.Errorf("%d: name %q is not canonical", i, name)
		}
		for _, s := range []string{name, strings.ToLower(name), strings.ToUpper(name)} {
			if got := LookupHeader([]byte(s)); got != id {
				t.Errorf("%q: %v", s, got)
			}
		}
		// One byte changed, taken away or added makes another name.
		for at := range name {
			changed := []byte(name)
			changed[at] = 'z'
			if strings.EqualFold(string(changed), name) {
				changed[at] = 'q'
			}
			if got := LookupHeader(changed); got != HeaderOther && !strings.EqualFold(got.String(), string(changed)) {
				t.Errorf("%q: %v", changed, got)
			}
			for _, s := range []string{name[:at] + name[at+1:], name[:at] + "-" + name[at:], name[:at], name[at+1:]} {
				if got := LookupHeader([]byte(s)); got != HeaderOther && !strings.EqualFold(got.String(), s) {
					t.Errorf("%q: %v", s, got)
				}
			}
		}
	}
	for n := range 100 {
		if got := LookupHeader(make([]byte, n)); got != HeaderOther {
			t.Errorf("%d zeros: %v", n, got)
		}
	}
}

// TestLookupHeaderReadsNameOnly looks up names at the very end of an array.
func TestLookupHeaderReadsNameOnly(t *testing.T) {
	for i := 1; i < NumHeaders; i++ {
		name := append([]byte("x"), headerNames[i]...)
		if got := LookupHeader(name[1:len(name):len(name)]); got != HeaderID(i) {
			t.Errorf("%q: %v", name[1:], got)
		}
	}
}

// TestLookupNearNames changes two bytes of every name, in all ways: a name that shares
// its slot in the table with a known one must not pass for it.
func TestLookupNearNames(t *testing.T) {
	const alphabet = "abcdefghijklmnopqrstuvwxyz-0123456789"
	for i := 1; i < NumHeaders; i++ {
		name := []byte(strings.ToLower(headerNames[i]))
		for a := range name {
			for b := range a {
				was, had := name[a], name[b]
				for _, c := range []byte(alphabet) {
					for _, d := range []byte(alphabet) {
						name[a], name[b] = c, d
						if got := LookupHeader(name); got != HeaderOther && (c != was || d != had) && !strings.EqualFold(string(name), got.String()) {
							t.Fatalf("%q: %v", name, got)
						}
					}
				}
				name[a], name[b] = was, had
			}
		}
	}
}

// TestLookupWords looks names up among bytes that are not theirs.
func TestLookupWords(t *testing.T) {
	for i := 1; i < NumHeaders; i++ {
		for _, name := range []string{headerNames[i], strings.ToUpper(headerNames[i]), headerNames[i][1:], headerNames[i] + "x"} {
			if len(name) > MaxWordsName {
				continue
			}
			for _, around := range []string{"\xff\xff\xff\xff\xff\xff\xff\xff", "\x00\x00\x00\x00\x00\x00\x00\x00", "12345678"} {
				buf := []byte(around + name + around)
				head, tail := EndWords(buf, len(around), len(around)+len(name))
				if got, want := LookupWords(head, tail, len(name)), LookupHeader([]byte(name)); got != want {
					t.Errorf("%q: %v, want %v", buf, got, want)
				}
			}
		}
	}
}

func TestHeaderString(t *testing.T) {
	for id, want := range map[HeaderID]string{HeaderOther: "", HeaderHost: "Host", 255: "HeaderID(255)"} {
		if got := id.String(); got != want {
			t.Errorf("%d: %q, want %q", uint8(id), got, want)
		}
	}
}

func TestMethods(t *testing.T) {
	for m := MethodGet; m <= MethodTrace; m++ {
		if got := LookupMethod([]byte(m.String())); got != m {
			t.Errorf("%v: %v", m, got)
		}
	}
	for _, s := range []string{"", "get", "GE", "GETS", "PRI"} {
		if got := LookupMethod([]byte(s)); got != MethodOther {
			t.Errorf("%q: %v", s, got)
		}
	}
	if got := Method(200).String(); got != "Method(200)" {
		t.Error(got)
	}
}

func BenchmarkLookupHeader(b *testing.B) {
	for _, name := range []string{"Host", "Accept-Encoding", "Upgrade-Insecure-Requests", "X-Unknown-Name"} {
		b.Run(name, func(b *testing.B) {
			in := []byte(name)
			for b.Loop() {
				LookupHeader(in)
			}
		})
	}
}
