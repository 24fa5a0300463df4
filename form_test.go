package redline_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// one serves a handler and puts one request with content to it.
func one(t *testing.T, h redline.HandlerFunc, content string, lines ...string) (*http.Response, string) {
	t.Helper()
	srv := serve(t, &redline.Server{Native: h})
	return submit(t, srv, "POST", "/?a=1&b=2&a=3&c=%20x&d", content, append(lines, fmt.Sprint("Content-Length: ", len(content)))...)
}

const formType = "Content-Type: application/x-www-form-urlencoded"

func TestForm(t *testing.T) {
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	mediaType := func(err error) bool {
		var m *redline.MediaTypeError
		return errors.As(err, &m) && m.Error() != ""
	}
	for _, tt := range []struct {
		name, content, line string
		most                int64
		want                url.Values
		fails               func(error) bool
	}{
		{name: "plain", content: "a=1&b=x+y&a=2&c=%C3%A4&d", line: formType, want: url.Values{"a": {"1", "2"}, "b": {"x y"}, "c": {"\u00e4"}, "d": {""}}},
		{name: "charset", content: "a=1", line: formType + "; charset=utf-8", want: url.Values{"a": {"1"}}},
		{name: "case", content: "a=1", line: "content-type: Application/X-WWW-Form-Urlencoded", want: url.Values{"a": {"1"}}},
		{name: "empty", line: formType, want: url.Values{}},
		{name: "as long as may be", content: "a=12", line: formType, most: 4, want: url.Values{"a": {"12"}}},
		{name: "too long", content: "a=123", line: formType, most: 4, fails: is(redline.ErrBodyTooLong)},
		{name: "bad escape", content: "a=%zz", line: formType, fails: func(err error) bool { return err != nil && !mediaType(err) }},
		{name: "semicolon", content: "a=1;b=2", line: formType, fails: func(err error) bool { return err != nil && !mediaType(err) }},
		{name: "no type", content: "a=1", line: "X-A: b", fails: mediaType},
		{name: "JSON", content: "{}", line: "Content-Type: application/json", fails: mediaType},
		{name: "multipart", content: "a=1", line: "Content-Type: multipart/form-data; boundary=x", fails: mediaType},
		{name: "malformed type", content: "a=1", line: "Content-Type: a/b/c; ;", fails: mediaType},
		{name: "many", content: strings.Repeat("a&", 20_000), line: formType, fails: func(err error) bool { return err != nil }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, _ := one(t, func(c *redline.Ctx) {
				most := tt.most
				if most == 0 {
					most = redline.DefaultMaxForm
				}
				got, err := c.FormValues(most)
				if (tt.fails == nil) != (err == nil) || tt.fails != nil && !tt.fails(err) {
					t.Errorf("%v %v", got, err)
				}
				if got.Encode() != tt.want.Encode() {
					t.Errorf("%v, want %v", got, tt.want)
				}
				again, err2 := c.FormValues(1)
				if again.Encode() != got.Encode() || !errors.Is(err2, err) {
					t.Errorf("again: %v %v", again, err2)
				}
				v, err3 := c.Form("a")
				if v != tt.want.Get("a") || !errors.Is(err3, err) {
					t.Errorf("a: %q %v", v, err3)
				}
				c.NoContent(204)
			}, tt.content, tt.line)
			if resp.StatusCode != 204 {
				t.Error(resp.Status)
			}
		})
	}
}

func TestQueryValues(t *testing.T) {
	one(t, func(c *redline.Ctx) {
		got, err := c.QueryValues()
		if want := (url.Values{"a": {"1", "3"}, "b": {"2"}, "c": {" x"}, "d": {""}}); err != nil || got.Encode() != want.Encode() {
			t.Error(got, err)
		}
	}, "")
}

// A partOf is what was read of a part.
type partOf struct{ name, file, kind, content string }

// readParts reads a multipart body, of each part most bytes.
func readParts(c *redline.Ctx, most int64) (parts []partOf, err error) {
	m, err := c.Multipart()
	if err != nil {
		return nil, err
	}
	for {
		p, err := m.Next()
		if err == io.EOF {
			return parts, nil
		}
		if err != nil {
			return parts, err
		}
		content, err := io.ReadAll(io.LimitReader(p, most))
		if err != nil {
			return parts, err
		}
		parts = append(parts, partOf{p.FormName(), p.FileName(), p.Header.Get("Content-Type"), string(content)})
	}
}

func TestMultipart(t *testing.T) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, step := range []func() error{
		func() error { return w.WriteField("a", "1") },
		func() error {
			p, err := w.CreateFormFile("file", "../x.bin")
			if err == nil {
				_, err = io.WriteString(p, pattern(300_000))
			}
			return err
		},
		func() error { return w.WriteField("b", "\u00e4") },
		w.Close,
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	for _, most := range []int64{1 << 20, 3, 0} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			one(t, func(c *redline.Ctx) {
				parts, err := readParts(c, most)
				if err != nil {
					t.Error(err)
				}
				cut := func(s string) string { return s[:min(most, int64(len(s)))] }
				want := []partOf{{"a", "", "", cut("1")}, {"file", "x.bin", "application/octet-stream", cut(pattern(300_000))}, {"b", "", "", cut("\u00e4")}}
				if fmt.Sprint(parts) != fmt.Sprint(want) {
					t.Errorf("%.500v", parts)
				}
			}, b.String(), "Content-Type: "+w.FormDataContentType())
		})
	}
}

func TestMultipartRefused(t *testing.T) {
	const kind = "Content-Type: multipart/form-data; boundary=x"
	head := "--x\r\nContent-Disposition: form-data; name=a\r\n"
	for _, tt := range []struct {
		name, content, line string
		want                error // nil is any
		status              int
	}{
		{"too many parts", strings.Repeat("--x\r\n\r\n\r\n", redline.MaxParts+1) + "--x--", kind, redline.ErrTooManyParts, 400},
		{"endless head", head + "X-A: " + strings.Repeat("a", 64<<10) + "\r\n\r\n--x--", kind, redline.ErrPartHead, 400},
		{"many fields", head + strings.Repeat("X-A: b\r\n", 10_000) + "\r\n\r\n--x--", kind, redline.ErrPartHead, 400},
		{"endless preamble", strings.Repeat("a\r\n", 30_000) + head + "\r\n\r\n--x--", kind, redline.ErrPartHead, 400},
		{"cut in content", head + "\r\nabc", kind, io.ErrUnexpectedEOF, 400},
		{"cut in head", head, kind, nil, 400},
		{"no parts", "abc", kind, nil, 400},
		{"empty", "", kind, nil, 400},
		{"no boundary", "", "Content-Type: multipart/form-data", nil, 415},
		{"empty boundary", "", `Content-Type: multipart/form-data; boundary=""`, nil, 415},
		{"long boundary", "", "Content-Type: multipart/form-data; boundary=" + strings.Repeat("x", 71), nil, 415},
		{"boundary that ends in a space", "", `Content-Type: multipart/form-data; boundary="x "`, nil, 415},
		{"odd boundary", "", `Content-Type: multipart/form-data; boundary="x@"`, nil, 415},
		{"other type", "", formType, nil, 415},
		{"two boundaries", "", "Content-Type: multipart/form-data; boundary=x; boundary=y", nil, 415},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, _ := one(t, func(c *redline.Ctx) {
				parts, err := readParts(c, 1<<10)
				if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("%.100v, %v, want %v", parts, err, tt.want)
				}
				var m *redline.MediaTypeError
				if errors.As(err, &m) {
					c.Error(415)
					return
				}
				c.Error(400)
			}, tt.content, tt.line)
			if resp.StatusCode != tt.status {
				t.Error(resp.Status)
			}
		})
	}
	// As many as may be are no trouble.
	one(t, func(c *redline.Ctx) {
		if parts, err := readParts(c, 10); err != nil || len(parts) != redline.MaxParts {
			t.Error(len(parts), err)
		}
	}, strings.Repeat("--x\r\n\r\n\r\n", redline.MaxParts)+"--x--", kind)
}

func TestAccepts(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"X-A: b", "application/json"},
		{"Accept: text/html", "text/html"},
		{"Accept: */*", "application/json"},
		{"Accept: image/png", ""},
		{"Accept: application/json;q=0.1\r\nAccept: text/*", "text/html"},
		{"Accept:", ""},
	} {
		one(t, func(c *redline.Ctx) {
			if got := c.Accepts("application/json", "text/html"); got != tt.want {
				t.Errorf("%q: %q, want %q", tt.line, got, tt.want)
			}
			if got := c.Accepts(); got != "" {
				t.Errorf("of nothing: %q", got)
			}
		}, "", tt.line)
	}
}

func TestCookie(t *testing.T) {
	for _, tt := range []struct {
		line, name, want string
		found            bool
	}{
		{"Cookie: a=1", "a", "1", true},
		{"Cookie: a=1; b=2", "b", "2", true},
		{"Cookie: a=1\r\nCookie: b=2", "b", "2", true},
		{"Cookie: a=1; a=2", "a", "1", true},
		{"Cookie: a=", "a", "", true},
		{`Cookie: a="x y"`, "a", "x y", true},
		{"Cookie: A=1", "a", "", false}, // names are case-sensitive
		{"X-A: b", "a", "", false},
		{"Cookie: ab=1", "a", "", false},
		// Somebody else's cookie must not hide ours.
		{`Cookie: bad name=x; =; ;{"json":1}; theirs=a,b\c; a=1`, "a", "1", true},
	} {
		one(t, func(c *redline.Ctx) {
			if got, found := c.Cookie(tt.name); got != tt.want || found != tt.found {
				t.Errorf("%q: %q %v", tt.line, got, found)
			}
		}, "", tt.line)
	}
}

func TestSetCookie(t *testing.T) {
	expires := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	good := []struct {
		cookie http.Cookie
		want   string
	}{
		{http.Cookie{Name: "a", Value: "1"}, "a=1"},
		{http.Cookie{Name: "a", Value: "x y"}, `a="x y"`},
		{
			http.Cookie{Name: "__Host-a", Value: "1", Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode},
			"__Host-a=1; Path=/; HttpOnly; Secure; SameSite=Strict",
		},
		{
			http.Cookie{Name: "a", Value: "1", Domain: "example.org", MaxAge: 60, Expires: expires, SameSite: http.SameSiteLaxMode},
			"a=1; Domain=example.org; Expires=Wed, 02 Jan 2030 03:04:05 GMT; Max-Age=60; SameSite=Lax",
		},
		{http.Cookie{Name: "a", MaxAge: -1}, "a=; Max-Age=0"},
		{http.Cookie{Name: "a", Value: "1", Secure: true, Partitioned: true, SameSite: http.SameSiteNoneMode}, "a=1; Secure; SameSite=None; Partitioned"},
	}
	bad := []http.Cookie{
		{Name: ""},
		{Name: "a b"},
		{Name: "a", Value: "1\r\nX: y"},
		{Name: "a", Value: "1;2"},
		{Name: "a=b"},
		{Name: "a", Path: "/;x"},
		{Name: "a", Path: "/\n"},
		{Name: "a", Domain: "a b"},
		{Name: "a", Domain: "x\r\ny"},
		{Name: "a", Value: "1", Partitioned: true},
		{Name: "a\r\n", Value: "1"},
		{Name: "a", Value: "\x00"},
	}
	resp, _ := one(t, func(c *redline.Ctx) {
		for i := range good {
			if err := c.SetCookie(&good[i].cookie); err != nil {
				t.Errorf("%v: %v", good[i].cookie, err)
			}
		}
		for i := range bad {
			if err := c.SetCookie(&bad[i]); err == nil {
				t.Errorf("%q was set", bad[i].String())
			}
		}
	}, "")
	got := resp.Header.Values("Set-Cookie")
	if len(got) != len(good) || resp.Header.Get("X") != "" {
		t.Fatalf("%q", got)
	}
	for i, line := range got {
		if line != good[i].want {
			t.Errorf("%q, want %q", line, good[i].want)
		}
	}
}
