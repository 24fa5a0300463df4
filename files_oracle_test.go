package redline_test

import (
	"bytes"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// An oracleCase is a request that is put to a FileServer and to net/http's
// ServeContent. differs says why the two may not agree, and then status is ours.
type oracleCase struct {
	method  string // GET when empty
	lines   []string
	differs string
	status  int
}

var rangeCases = func() (cases []oracleCase) {
	for _, r := range []string{
		"bytes=0-0", "bytes=0-9", "bytes=5-", "bytes=-1", "bytes=-10", "bytes=-100000000", "bytes=0-", "bytes=1-1,3-3",
		"bytes=0-9,20-29", "bytes= 0-9 , 20-29", "bytes=20-29,0-9", "bytes=0-0,,2-2,", "bytes=0-9,99999999-", "bytes=5-4",
		"bytes=99999999-", "bytes=99999999-,99999999-", "bytes", "bytes=-", "bytes=a-b", "bytes=1-b", "bytes=--1",
		"bytes=0-99999999", "bytes=-5,0-1", "bytes=0-,0-", "bytes=0-5,1-6,2-7", "bytes=9999-", "bytes=9998-9999", "bytes=9999-9999",
		"bytes=10000-", "bytes=0-9999", "bytes=0-10000", "bytes=1-9999,0-0", "0-9", "bytes:0-9", "bytes=0-9;q=1",
	} {
		cases = append(cases, oracleCase{lines: []string{"Range: " + r}})
	}
	for _, c := range []struct {
		field, why string
		status     int
	}{
		{"bytes=-0", "an empty suffix is not satisfiable (RFC 9110, 14.1.2); net/http sends an empty part", 416},
		{"bytes=", "a range set has a range (RFC 9110, 14.1.1)", 416},
		{"bytes=+1-2", "1*DIGIT has no sign (RFC 9110, 14.1.1)", 416},
		{"bytes=1 - 2", "int-range has no blanks (RFC 9110, 14.1.1)", 416},
		{"lines=0-9", "a unit that is not known is ignored (RFC 9110, 14.2)", 200},
		{"BYTES=0-9", "units are case-insensitive (RFC 9110, 14.1)", 206},
		{"bytes=0-99999999999999999999", "a last position behind the end is cut, however large (RFC 9110, 14.1.2)", 206},
		{"bytes=" + strings.Repeat("1-1,", 33), "too many ranges are ignored (RFC 9110, 14.2)", 200},
	} {
		cases = append(cases, oracleCase{lines: []string{"Range: " + c.field}, differs: c.why, status: c.status})
	}
	return append(
		cases,
		oracleCase{method: "HEAD"},
		oracleCase{method: "HEAD", lines: []string{"Range: bytes=0-9"}, differs: "Range is for GET alone (RFC 9110, 14.2)", status: 200},
		oracleCase{},
	)
}()

const (
	fileTag    = `"tag"`
	fileDate   = "Sun, 01 Jun 2025 12:00:00 GMT"
	fileBefore = "Sun, 01 Jun 2025 11:59:59 GMT"
	fileAfter  = "Mon, 02 Jun 2025 12:00:00 GMT"
)

var conditionCases = func() (cases []oracleCase) {
	fields := map[string][]string{
		"If-Match":            {`"tag"`, `"other"`, `W/"tag"`, "*", `"other", "tag"`, `"other",W/"tag"`, "tag", `"tag`},
		"If-None-Match":       {`"tag"`, `"other"`, `W/"tag"`, "*", `"other", "tag"`, "tag", `"a,b", "tag"`},
		"If-Modified-Since":   {fileDate, fileBefore, fileAfter, "never", "Sunday, 01-Jun-25 12:00:00 GMT", "Sun Jun  1 12:00:00 2025"},
		"If-Unmodified-Since": {fileDate, fileBefore, fileAfter, "never"},
		"If-Range":            {`"tag"`, `"other"`, `W/"tag"`, fileDate, fileBefore, fileAfter, "never"},
	}
	names := []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"}
	for i, a := range names {
		for _, va := range fields[a] {
			one := []string{a + ": " + va}
			for _, method := range []string{"GET", "HEAD"} {
				cases = append(cases, oracleCase{method: method, lines: one})
			}
			cases = append(cases, oracleCase{lines: append(one, "Range: bytes=2-4")})
			for _, b := range names[i+1:] {
				for _, vb := range fields[b] {
					cases = append(cases, oracleCase{lines: append(one, b+": "+vb, "Range: bytes=2-4")})
				}
			}
		}
	}
	return append(cases, oracleCase{
		lines:   []string{`If-Range: "tag", "tag"`, "Range: bytes=2-4"},
		differs: "If-Range is one tag (RFC 9110, 13.1.5): what is not understood gets the whole", status: 200,
	})
}()

// TestFilesAgainstServeContent wants the answers of net/http, which has been
// read by many.
func TestFilesAgainstServeContent(t *testing.T) {
	for i, size := range []int{0, 1, 10_000} {
		content := pattern(size)
		dir, _ := tree(t, map[string]string{"f.txt": content})
		open := func() *os.File {
			f, err := os.Open(filepath.Join(dir, "f.txt"))
			if err != nil {
				t.Error(err)
			}
			return f
		}
		oracle := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Etag", fileTag)
			f := open()
			defer f.Close()
			http.ServeContent(w, r, "f.txt", time.Date(2025, 6, 1, 12, 0, 0, 5e8, time.UTC), f)
		}))
		defer oracle.Close()
		theirs := &running{t: t, addr: oracle.Listener.Addr()}
		onEach(t, func(t *testing.T, name redline.Transport) {
			ours := serve(t, &redline.Server{Transport: name, Native: func(c *redline.Ctx) {
				f := open()
				defer f.Close()
				if err := c.SetHeader("ETag", fileTag); err != nil {
					t.Error(err)
				}
				if err := c.ServeFile(f); err != nil {
					t.Error(err)
				}
			}})
			for row, c := range slices.Concat(rangeCases, conditionCases) {
				if size != 10_000 && c.differs != "" {
					continue // whether they differ depends on the size
				}
				if !turn(name, row+i) {
					continue
				}
				if size == 0 && len(c.lines) > 0 && strings.HasPrefix(c.lines[0], "Range") {
					// Nothing has no ranges; net/http answers "-1" with
					// "bytes 0--1/0".
					if resp, body := fetch(t, ours, "GET", "/f.txt", c.lines...); resp.StatusCode != 200 || body != "" || resp.Header.Get("Content-Range") != "" {
						t.Errorf("%q of nothing: %d %q", c.lines, resp.StatusCode, body)
					}
					continue
				}
				compareAnswers(t, ours, theirs, c)
			}
			until(t, "the handlers have returned", func() bool { return ours.Stats().Open == 0 })
		})
	}
}

func compareAnswers(t *testing.T, ours, theirs *running, c oracleCase) {
	t.Helper()
	if c.method == "" {
		c.method = "GET"
	}
	got, body := fetch(t, ours, c.method, "/f.txt", c.lines...)
	want, wantBody := fetch(t, theirs, c.method, "/f.txt", c.lines...)
	failed := func(what string, got, want any) {
		t.Errorf("%s %q: %s %.200q, want %.200q", c.method, c.lines, what, got, want)
	}
	if c.differs != "" {
		if got.StatusCode != c.status {
			failed("status", got.StatusCode, c.status)
		}
		if got.StatusCode == want.StatusCode && body == wantBody {
			t.Errorf("%s %q: no difference: %s", c.method, c.lines, c.differs)
		}
		return
	}
	if got.StatusCode != want.StatusCode {
		failed("status", got.StatusCode, want.StatusCode)
		return
	}
	names := []string{"Etag", "Last-Modified", "Accept-Ranges", "Content-Range", "Content-Length", "Content-Encoding"}
	switch got.StatusCode {
	case 304:
		names = []string{"Etag", "Content-Length"}
	case 412, 416:
		names, body, wantBody = nil, "", "" // what they say is theirs
		if r := want.Header.Get("Content-Range"); r != "" {
			names = []string{"Content-Range"}
		}
	case 206:
		if kind, params, _ := mime.ParseMediaType(want.Header.Get("Content-Type")); kind == "multipart/byteranges" {
			names = names[:3]
			wantBody = parts(t, wantBody, params["boundary"])
			kind, params, err := mime.ParseMediaType(got.Header.Get("Content-Type"))
			if err != nil || kind != "multipart/byteranges" {
				failed("type", got.Header.Get("Content-Type"), kind)
				return
			}
			body = parts(t, body, params["boundary"])
			break
		}
		fallthrough
	default:
		names = append(names, "Content-Type")
	}
	for _, name := range names {
		if g, w := got.Header.Get(name), want.Header.Get(name); g != w {
			failed(name, g, w)
		}
	}
	if body != wantBody {
		failed("body", body, wantBody)
	}
}

// parts writes a multipart body down in a form that does not depend on its
// boundary.
func parts(t *testing.T, body, boundary string) string {
	t.Helper()
	var b bytes.Buffer
	r := multipart.NewReader(strings.NewReader(body), boundary)
	for {
		p, err := r.NextRawPart()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			t.Fatalf("multipart body: %v in %.300q", err, body)
		}
		content, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(p.Header.Get("Content-Type") + "|" + p.Header.Get("Content-Range") + "|" + string(content) + "\n")
	}
}
