package h2

import (
	"errors"
	"strings"
	"testing"
)

func TestFromWire(t *testing.T) {
	list := func(fields []Field) string {
		var s []string
		for _, f := range fields {
			s = append(s, f.Name+"="+string(f.Value))
		}
		return strings.Join(s, " ")
	}
	for _, tc := range []struct{ wire, want, content, err string }{
		{"GET /a?b HTTP/1.1\r\nHost: h:1\r\nAccept:  x \r\nConnection: close\r\nTE: trailers\r\n\r\n", ":method=GET :scheme=https :authority=h:1 :path=/a?b accept=x", "", ""},
		{"POST / HTTP/1.1\r\nX-Y: 1\r\nhost: h\r\nContent-Length: 3\r\n\r\nabc", ":method=POST :scheme=https :authority=h :path=/ x-y=1 content-length=3", "abc", ""},
		{"GET / HTTP/1.1\r\n\r\n", ":method=GET :scheme=https :path=/", "", ""},
		{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "", "", "a chunked request"},
		{"GET / HTTP/1.1\r\nHost: h\r\n", "", "", "incomplete request head"},
		{"GET /\r\n\r\n", "", "", `invalid request line "GET /"`},
		{"GET / HTTP/1.1\r\nHost\r\n\r\n", "", "", `invalid field line "Host"`},
	} {
		fields, content, err := FromWire([]byte(tc.wire), "https")
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%q: error %v, want %q", tc.wire, err, tc.err)
			}
			continue
		}
		if err != nil || list(fields) != tc.want || string(content) != tc.content {
			t.Errorf("%q: %s, %q, %v", tc.wire, list(fields), content, err)
		}
		if _, err := NewRequest(0, fields, content, int64(len(content))); err != nil {
			t.Errorf("%q: %v", tc.wire, err)
		}
	}
}

// digits is content that is generated while it is sent, up to a limit.
type digits struct{ most int64 }

var errDigits = errors.New("no more digits")

func (d digits) AppendContentAt(dst []byte, off int64, n int) ([]byte, error) {
	for i := range int64(n) {
		if off+i >= d.most {
			return dst, errDigits
		}
		dst = append(dst, '0'+byte((off+i)%10))
	}
	return dst, nil
}

// Content is read while it is sent; a read error ends the connection without a partial
// frame.
func TestSetContent(t *testing.T) {
	const size = 3*maxFrame + 5
	for _, most := range []int64{size, 2 * maxFrame, 10} {
		c := begun(t, Settings{}, &record{}, 0)
		r := request(t, 0, "PUT", "/", nil, 0)
		r.SetContent(digits{most}, size)
		_, out := c.AppendRequest(nil, r)
		for c.Pending() {
			out = c.AppendPending(out, 1<<20)
		}
		sent := strings.Count(string(out), "01234567890123456789")
		switch {
		case most == size && (c.ContentErr() != nil || c.Err() != nil || len(out) < size || sent < size/20-5):
			t.Errorf("%d bytes, %v, %v", len(out), c.ContentErr(), c.Err())
		case most < size && (!errors.Is(c.ContentErr(), errDigits) || c.Err() == nil || c.Room() != 0):
			t.Errorf("content of %d bytes: %v, %v", most, c.ContentErr(), c.Err())
		}
		frames(t, out) // checks that they are complete
	}
}

// SetBody changes the content of later requests.
func TestSetBody(t *testing.T) {
	c := begun(t, Settings{}, &record{}, 0)
	r := request(t, 0, "PUT", "/", nil, 0)
	for _, body := range []string{"one", "", "three"} {
		r.SetBody([]byte(body))
		_, out := c.AppendRequest(nil, r)
		if body != "" && !strings.HasSuffix(string(out), body) || body == "" && len(frames(t, out)) != 1 {
			t.Errorf("%q: %q", body, out)
		}
	}
	if r.Head() || !request(t, 1, "HEAD", "/", nil, 0).Head() || r.Fields() < 3 {
		t.Error("what a request is")
	}
}

// texts records the fields of answers.
type texts struct {
	record
	seen []string
}

func (s *texts) Head(_ int, h *Head) { s.seen = append(s.seen, string(h.Text())) }

// Text has the fields of an answer in the format of HTTP/1.1, without trailers, also if the
// header block repeats the last one.
func TestText(t *testing.T) {
	s := &texts{}
	c := begun(t, Settings{Text: true}, s, 3)
	answer := func(id uint32, pairs ...string) []byte {
		return raw(frameHeaders, flagEndHeaders, id, fields(append([]string{":status", "200"}, pairs...)...))
	}
	for _, in := range [][]byte{
		answer(1, "x-a", "1", "content-length", "0"),
		raw(frameHeaders, flagEndHeaders|flagEndStream, 1, fields("x-trailer", "t")),
		answer(3, "x-a", "1", "content-length", "0"), answer(5),
	} {
		if err := c.Feed(in); err != nil {
			t.Fatal(err)
		}
	}
	want := "x-a: 1\r\ncontent-length: 0\r\n"
	if len(s.seen) != 3 || s.seen[0] != want || s.seen[1] != want || s.seen[2] != "" {
		t.Errorf("%q", s.seen)
	}
}
