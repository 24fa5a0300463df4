package scenario

import (
	"strconv"
	"testing"
)

// answer keeps what an answer sets.
func setCookies(j *jar, set ...string) {
	for _, s := range set {
		j.take([]byte(s))
	}
	j.keep()
}

// RFC 6265 determines which cookies are sent.
func TestJar(t *testing.T) {
	for _, c := range []struct {
		name, from   string // path of the request that gets set
		set          []string
		scheme, host string
		to, want     string
	}{
		{"session", "/login", []string{"s=1; HttpOnly"}, "http", "app:80", "/", "s=1"},
		{"several", "/", []string{"a=1", "b=2"}, "http", "app", "/", "a=1; b=2"},
		{"again", "/", []string{"a=1", "a=2"}, "http", "app", "/", "a=2"},
		{"path", "/", []string{"a=1; Path=/shop"}, "http", "app", "/shop/cart?x=1", "a=1"},
		{"other path", "/", []string{"a=1; Path=/shop"}, "http", "app", "/shopping", ""},
		{"default path", "/shop/login?to=/x", []string{"a=1"}, "http", "app", "/shop/cart", "a=1"},
		{"above the default path", "/shop/login", []string{"a=1"}, "http", "app", "/", ""},
		{"domain", "/", []string{"a=1; Domain=app.example"}, "http", "www.app.example", "/", "a=1"},
		{"host only", "/", []string{"a=1"}, "http", "www.app.example", "/", ""},
		{"foreign domain", "/", []string{"a=1; Domain=other.example"}, "http", "other.example", "/", ""},
		{"secure in clear", "/", []string{"a=1; Secure"}, "http", "app.example", "/", ""},
		{"secure", "/", []string{"a=1; Secure"}, "https", "app.example", "/", "a=1"},
		{"expired", "/", []string{"a=1", "a=1; Max-Age=0"}, "http", "app.example", "/", ""},
		{"in the past", "/", []string{"a=1", "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"}, "http", "app.example", "/", ""},
		{"in time", "/", []string{"a=1; Max-Age=3600"}, "http", "app.example", "/", "a=1"},
		{"malformed", "/", []string{"=;", "x", "=1", " = 1", "b=2"}, "http", "app.example", "/", "b=2"},
		{"quotes", "/", []string{`e="q u"; Path=/`}, "http", "app.example", "/", `e="q u"`},
		{"JSON", "/", []string{`prefs={"a":1,"b":2}`}, "http", "app.example", "/", `prefs={"a":1,"b":2}`},
		{"backslash", "/", []string{`bs=a\b`}, "http", "app.example", "/", `bs=a\b`},
		{"UTF-8", "/", []string{"u=\u00e9\u00a0; Secure"}, "https", "app.example", "/", "u=\u00e9\u00a0"},
		{"other bytes", "/", []string{"u=\xff\x80"}, "http", "app.example", "/", "u=\xff\x80"},
		{"white space", "/", []string{" \te \t=\t a\tb \t; Secure"}, "https", "app.example", "/", "e=a\tb"},
		{"name", "/", []string{"a b[0]=1"}, "http", "app.example", "/", "a b[0]=1"},
		{"equal signs", "/", []string{"a==b=="}, "http", "app.example", "/", "a==b=="},
		{"no value", "/", []string{"a=; Path=/"}, "http", "app.example", "/", "a="},
		{"control characters", "/", []string{"a=1\x00", "b=\x7f", "c\n=1", "d=1\r", "e=1; Path=/\x1f", "f=1"}, "http", "app.example", "/", "f=1"},
	} {
		host := "app.example"
		if len(c.host) < len(host) {
			host = c.host
		}
		j := newJar()
		if got := j.appendTo(nil, c.scheme, host, []byte(c.from)); len(got) > 0 {
			t.Errorf("%s: an empty jar has %q", c.name, got)
		}
		setCookies(j, c.set...)
		if got := string(j.appendTo([]byte("x"), c.scheme, c.host, []byte(c.to))); got != "x"+c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		j.clear()
		if got := j.appendTo(nil, c.scheme, c.host, []byte(c.to)); len(got) > 0 {
			t.Errorf("%s: a cleared jar has %q", c.name, got)
		}
	}
}

// The number of cookies is limited for each answer and each request.
func TestJarBounds(t *testing.T) {
	j := newJar()
	for n := range 30 {
		j.appendTo(nil, "http", "app", []byte("/"))
		for k := range 100 {
			j.take([]byte("c" + strconv.Itoa(n) + "-" + strconv.Itoa(k) + "=1234567890123456789012345678901234567890"))
		}
		j.keep()
	}
	if n := len(j.appendTo(nil, "http", "app", []byte("/"))); n == 0 || n > maxSent+maxSent/10 {
		t.Errorf("%d bytes of cookies", n)
	}
}
