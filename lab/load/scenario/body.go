package scenario

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	inlineBody = 64 << 10 // bodies up to this size are stored in the target's bytes
	oneChunk   = 16 << 10 // default size of chunks
	fillBlock  = 64 << 10 // period of generated content; twice the window of gzip
)

// payload is the body of a target.
type payload struct {
	given   bool
	content template
	stream  *Stream
	chunk   int64 // 0: use Content-Length
	media   string
}

// contents is the source of a long body.
type contents interface {
	appendAt(dst []byte, off int64, n int) ([]byte, error)
}

// Stream is a body that is too long for a buffer. It is produced in pieces, from any
// offset, so that a generator can continue where the socket stopped. It is safe for
// concurrent use.
type Stream struct {
	size   int64 // of the content
	chunk  int64 // 0: not chunked
	full   int64 // size of a whole chunk with its framing
	source contents
}

func newStream(size, chunk int64, source contents) *Stream {
	s := &Stream{size: size, chunk: chunk, source: source}
	if chunk > 0 {
		s.full = int64(len(strconv.FormatInt(chunk, 16))) + 2 + chunk + 2
	}
	return s
}

const lastChunk = "0\r\n\r\n"

// Size returns the size of the body on the wire of HTTP/1.1 in bytes, including chunk
// framing.
func (s *Stream) Size() int64 {
	if s.chunk == 0 {
		return s.size
	}
	n := s.size / s.chunk * s.full
	if r := s.size % s.chunk; r > 0 {
		n += int64(len(strconv.FormatInt(r, 16))) + 2 + r + 2
	}
	return n + int64(len(lastChunk))
}

// ContentSize returns the size of the content in bytes, without framing.
func (s *Stream) ContentSize() int64 { return s.size }

// AppendAt appends up to n bytes of the wire format, starting at off; fewer than n only at
// the end. It returns the errors of reading the file that the body is taken from.
func (s *Stream) AppendAt(dst []byte, off int64, n int) ([]byte, error) {
	if s.chunk == 0 {
		return s.AppendContentAt(dst, off, n)
	}
	for end := min(off+int64(n), s.Size()); off < end; {
		k := min(off/s.full, s.size/s.chunk)
		at := off - k*s.full // within chunk k, which may be a short one or, with it, the last
		length := min(s.chunk, s.size-k*s.chunk)
		var buf [24]byte
		before := append(strconv.AppendInt(buf[:0], length, 16), "\r\n"...)
		after := "\r\n"
		if length < s.chunk {
			after += lastChunk
		}
		if length == 0 {
			before, after = nil, lastChunk
		}
		size := len(dst)
		switch data := at - int64(len(before)); {
		case data < 0:
			dst = append(dst, before[at:][:min(-data, end-off)]...)
		case data < length:
			var err error
			if dst, err = s.source.appendAt(dst, k*s.chunk+data, int(min(length-data, end-off))); err != nil {
				return dst, err
			}
		default:
			rest := after[data-length:]
			dst = append(dst, rest[:min(int64(len(rest)), end-off)]...)
		}
		off += int64(len(dst) - size)
	}
	return dst, nil
}

// AppendContentAt is [Stream.AppendAt] without chunk framing, for HTTP/2.
func (s *Stream) AppendContentAt(dst []byte, off int64, n int) ([]byte, error) {
	return s.source.appendAt(dst, off, int(min(int64(n), s.size-off)))
}

// appendChunked appends a short body with chunk framing, RFC 9112, section 7.1.
func appendChunked(dst, content []byte, chunk int64) []byte {
	for len(content) > 0 {
		n := min(int64(len(content)), chunk)
		dst = strconv.AppendInt(dst, n, 16)
		dst = append(dst, "\r\n"...)
		dst = append(dst, content[:n]...)
		dst = append(dst, "\r\n"...)
		content = content[n:]
	}
	return append(dst, lastChunk...)
}

// pattern repeats a block.
type pattern []byte

func (p pattern) appendAt(dst []byte, off int64, n int) ([]byte, error) {
	for n > 0 {
		piece := p[off%int64(len(p)):]
		piece = piece[:min(n, len(piece))]
		dst = append(dst, piece...)
		off += int64(len(piece))
		n -= len(piece)
	}
	return dst, nil
}

// onDisk is a file that stays open.
type onDisk struct {
	name string
	file io.ReaderAt
}

func (d onDisk) appendAt(dst []byte, off int64, n int) ([]byte, error) {
	start := len(dst)
	dst = append(dst, make([]byte, n)...)
	if got, err := d.file.ReadAt(dst[start:], off); got < n {
		return dst[:start+got], fmt.Errorf("read %s at %d: %w", d.name, off, err)
	}
	return dst, nil
}

// fills are the kinds of generated content.
var fills = map[string]func() pattern{
	"zero": func() pattern { return make(pattern, fillBlock) },
	"text": func() pattern {
		return pattern(strings.Repeat("The quick brown fox jumps over the lazy dog 0123456789 times...\n", fillBlock/64))
	},
	"random": func() pattern {
		p := make(pattern, fillBlock)
		key := [32]byte{'r', 'e', 'd', 'l', 'i', 'n', 'e'}
		_, _ = rand.NewChaCha8(key).Read(p) // never fails
		return p
	},
}

// body compiles the body of a step.
func (s *scope) body(b *body) payload {
	p := payload{given: true}
	var kinds []string
	add := func(name string, given bool) {
		if given {
			kinds = append(kinds, name)
		}
	}
	add("text", b.Text.given())
	add("json", b.JSON != nil)
	add("form", b.Form != nil)
	add("file", b.File.given())
	add("size", b.Size.given())
	c := s.c
	if len(kinds) != 1 {
		c.fail(b.Line, "write one of text, json, form, file and size", "a body of %d kinds", len(kinds))
		return p
	}
	if b.Template && !b.File.given() {
		c.fail(b.Line, "leave template out", "template applies only to file: a body of %s always expands variables", kinds[0])
	}
	if b.Fill.given() && !b.Size.given() {
		c.fail(b.Line, "leave fill out, or write size: for generated content", "fill applies only to size")
	}
	p.chunk = c.chunk(b.Chunked)
	switch {
	case b.Text.given():
		p.content = s.template(b.Text, plain)
	case b.JSON != nil:
		p.content, p.media = s.tree(b.JSON.node), "application/json"
	case b.Form != nil:
		p.media = "application/x-www-form-urlencoded"
		for i, e := range b.Form {
			if i > 0 {
				p.content = p.content.text("&")
			}
			p.content = p.content.text(string(query.append(nil, []byte(e.name))) + "=").join(s.form(e.value))
		}
	case b.File.given():
		s.file(&p, b)
	default:
		c.generated(&p, b)
	}
	return p
}

// form escapes both the literals and the values.
func (s *scope) form(t text) template {
	out := s.template(t, query)
	for i := range out {
		if out[i].slot < 0 {
			out[i].literal = query.append(nil, out[i].literal)
		}
	}
	return out
}

// chunk parses chunked: true, false, or the size of a chunk.
func (c *compiler) chunk(t text) int64 {
	switch t.s {
	case "", "false":
		return 0
	case "true":
		return oneChunk
	}
	n, err := ParseSize(t.s)
	if err != nil || n == 0 || n > 1<<30 {
		c.fail(t.node.line, "write chunked: true, or the size of a chunk such as 16KiB", "chunked: %q", t.s)
		return oneChunk
	}
	return n
}

// generated makes a body of a given size.
func (c *compiler) generated(p *payload, b *body) {
	size, err := ParseSize(b.Size.s)
	if err != nil {
		c.fail(b.Size.node.line, "write bytes, or a size such as 64KiB, 10MB or 1GiB", "%v", err)
		return
	}
	kind := b.Fill.or("random")
	fill, ok := fills[kind]
	if !ok {
		c.fail(b.Fill.node.line, "write fill: random, text or zero", "fill %q", kind)
		return
	}
	if c.fills[kind] == nil {
		c.fills[kind] = fill()
	}
	c.long(p, newStream(size, p.chunk, c.fills[kind]))
}

// long stores a body as a stream or, if it is short, in the target's bytes.
func (c *compiler) long(p *payload, s *Stream) {
	if s.size > inlineBody {
		p.stream = s
		return
	}
	content, err := s.AppendContentAt(nil, 0, int(s.size))
	if err != nil {
		c.fail(0, "check the file", "%v", err)
	}
	p.content = template(nil).text(string(content))
}

// file makes a body from a file, either unchanged or as a template.
func (s *scope) file(p *payload, b *body) {
	c := s.c
	if b.Template {
		data, ok := c.read(b.File)
		if ok {
			inner := &scope{c: &compiler{binder: &binder{name: c.path(b.File.s)}, shared: c.shared}, names: s.names, later: s.later}
			p.content = inner.template(text{string(data), &node{kind: words, block: true, text: string(data)}}, plain)
			c.errs = append(c.errs, inner.c.errs...)
		}
		return
	}
	if f, ok := c.opened[b.File.s]; ok {
		c.long(p, newStream(f.size, p.chunk, f.source))
		return
	}
	f, err := c.openFile(b.File.s)
	if err != nil {
		c.fail(b.File.node.line, "give the path of a readable file, relative to the scenario's", "%v", err)
		return
	}
	c.opened[b.File.s] = f
	c.long(p, newStream(f.size, p.chunk, f.source))
}

// fileBody is a file used as a body.
type fileBody struct {
	size   int64
	source contents
}

// openFile reads a short file completely, and keeps a long one open.
func (c *compiler) openFile(name string) (fileBody, error) {
	name = c.path(name)
	var f fs.File
	var err error
	if c.o.FS != nil {
		f, err = c.o.FS.Open(name)
	} else {
		f, err = os.Open(name)
	}
	if err != nil {
		return fileBody{}, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return fileBody{}, closing(f, err)
	}
	c.note(name)
	at, random := f.(io.ReaderAt)
	if info.Size() > inlineBody && random {
		c.plan.open = append(c.plan.open, f)
		return fileBody{info.Size(), onDisk{name, at}}, nil
	}
	data, err := io.ReadAll(f)
	return fileBody{int64(len(data)), pattern(data)}, closing(f, err)
}

// closing closes f, and returns its error only if there is no other error.
func closing(f io.Closer, err error) error {
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// path returns the location of a file of the scenario.
func (c *compiler) path(name string) string {
	if filepath.IsAbs(name) || c.dir == "." || c.dir == "" {
		return name
	}
	return filepath.Join(c.dir, name)
}
