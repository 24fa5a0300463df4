package static

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	tests := []struct {
		raw, name string
		dir, ok   bool
	}{
		{"", ".", true, true},
		{"a.js", "a.js", false, true},
		{"a/b.js", "a/b.js", false, true},
		{"a/", "a", true, true},
		{"a%20b", "a b", false, true},
		{"a+b", "a+b", false, true},
		{"%C3%A4", "\u00e4", false, true},
		{"a~b", "a~b", false, true},
		{".well-known/x", ".well-known/x", false, true},
		{"a..b", "a..b", false, true},
		{"...", "", false, false}, // begins with a dot
		{"a/...b", "", false, false},
		{"/", "", false, false},
		{"//", "", false, false},
		{"/etc/passwd", "", false, false},
		{"a//b", "", false, false},
		{"a//", "", false, false},
		{".", "", false, false},
		{"./", "", false, false},
		{"./a", "", false, false},
		{"a/./b", "", false, false},
		{"a/.", "", false, false},
		{"..", "", false, false},
		{"../a", "", false, false},
		{"a/../b", "", false, false},
		{"a/..", "", false, false},
		{"%2e%2e/a", "", false, false},
		{"%2E%2e", "", false, false},
		{".%2e/a", "", false, false},
		{"%2e/a", "", false, false},
		{"%2e", "", false, false},
		{`..\a`, "", false, false},
		{`a\b`, "", false, false},
		{"..%5ca", "", false, false},
		{"a%5C..%5Cb", "", false, false},
		{"a%2fb", "", false, false},
		{"a%2Fb", "", false, false},
		{"..%2fa", "", false, false},
		{"%2fetc%2fpasswd", "", false, false},
		{"%2f", "", false, false},
		{"a%00", "", false, false},
		{"a%00.js", "", false, false},
		{"a%0a", "", false, false},
		{"a%7f", "", false, false},
		{"%ff", "", false, false},
		{"%c0%ae%c0%ae/a", "", false, false}, // overlong dots
		{"%zz", "", false, false},
		{"%2", "", false, false},
		{"%252e%252e/a", "%2e%2e/a", false, true}, // decoded once: a strange name, and no more
		{".git/config", "", false, false},
		{"a/.env", "", false, false},
		{"%2eenv", "", false, false},
	}
	for _, tt := range tests {
		name, dir, ok := Name([]byte(tt.raw), false)
		if name != tt.name || ok != tt.ok || ok && dir != tt.dir {
			t.Errorf("%q: %q %v %v, want %q %v %v", tt.raw, name, dir, ok, tt.name, tt.dir, tt.ok)
		}
	}
	for raw, want := range map[string]bool{".git/config": true, "a/.env": true, "..": false, "a/../.env": false, ".": false} {
		if _, _, ok := Name([]byte(raw), true); ok != want {
			t.Errorf("%q with dots: %v", raw, ok)
		}
	}
}

func TestPlainOnWindows(t *testing.T) {
	for segment, want := range map[string]bool{
		"a.js": true, "con.js.d": false, "CON": false, "nul": false, "aux.txt": false, "prn .txt": false,
		"com1": false, "COM0": false, "lpt9.log": false, "lpt\u00b2": false, "COM10": true, "common": true,
		"conin$": false, "CONOUT$.x": false, "console": true, "a:b": false, "a::$DATA": false, "c:": false,
		"a.": false, "a ": false, "a..": false, "GIT~1": false, "a~b": true, "a*": false, "a?": false, `a"`: false, "a|b": false,
	} {
		if got := plainOnWindows(segment); got != want {
			t.Errorf("%q: %v", segment, got)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"a/b", "../a", "%2e%2e/", `..\a`, "a%00", ".git", "a//b", "%2f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		name, _, ok := Name([]byte(raw), true)
		if !ok {
			return
		}
		if name != "." && (strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\\\x00\n")) {
			t.Fatalf("%q: %q", raw, name)
		}
		for i, s := range strings.Split(name, "/") {
			if s == "" || s == ".." || s == "." && (i > 0 || name != ".") {
				t.Fatalf("%q: %q", raw, name)
			}
		}
	})
}
