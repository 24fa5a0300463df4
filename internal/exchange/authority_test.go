package exchange

import "testing"

func TestSameAuthority(t *testing.T) {
	for _, c := range []struct {
		a, b, port string
		want       bool
	}{
		{"h", "h", "80", true},
		{"localhost", "LOCALHOST:80", "80", true},
		{"localhost:", "LocalHost", "80", true},
		{"h:", "h:443", "443", true},
		{"h:80", "h", "443", false},
		{"h:8080", "h", "80", false},
		{"h", "i", "80", false},
		{"h", "h.", "80", false},
		{"[::1]", "[::1]:80", "80", true},
		{"[::a]:80", "[::A]", "80", true},
		{"[::1]", "[::1]:81", "80", false},
		{"[::1]:80", "[::80]", "80", false},
		{"k", "\u212a", "80", false}, // Kelvin's sign is no letter k in a host
		{"h", "", "80", false},
		{"h:80", ":80", "80", false},
		{"h", "h:080", "80", false},
	} {
		if got := SameAuthority([]byte(c.a), []byte(c.b), c.port); got != c.want {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
		if got := SameAuthority([]byte(c.b), []byte(c.a), c.port); got != c.want {
			t.Errorf("%q and %q: %v", c.b, c.a, got)
		}
	}
}
