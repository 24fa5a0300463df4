package redline

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/redline-go/redline/internal/clock"
	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/static"
)

// FileOptions sets how a directory is served. The zero value is safe.
type FileOptions struct {
	// Index is the file that is served for its directory; "index.html" if empty. A
	// directory without one is not found: there are no listings.
	Index string
	// NoIndex excludes directories.
	NoIndex bool
	// Precompressed serves "a.js.br", "a.js.zst" or "a.js.gz" for "a.js" to clients that
	// accept the coding, unless it is older than "a.js".
	Precompressed bool
	// CacheControl is sent as the Cache-Control field; empty sends none.
	CacheControl string
	// DotFiles also serves names that begin with a dot. Otherwise ".well-known" is the only
	// one that is served.
	DotFiles bool
	// Sniff lets browsers guess the type of content: without it,
	// X-Content-Type-Options says nosniff.
	Sniff bool
	// ETag computes the entity tag of a file, in quotes, from its FileInfo; empty means
	// none. nil means a strong tag from size and modification time, which suits files that
	// are replaced rather than rewritten in place.
	ETag func(fs.FileInfo) string
	// NotFound answers requests for missing files; nil means 404.
	NotFound HandlerFunc
}

// FileServer returns a handler that serves the regular files below root. The caller keeps
// root and must not close it:
//
//	root, err := os.OpenRoot("public")
//	...
//	r.GET("/assets/{path...}", redline.FileServer(root, redline.FileOptions{Precompressed: true}))
//
// The file's path is the value of the route's {name...} parameter; without such a route,
// the whole path of the request. No path leads out of root, through any encoding or
// symbolic link, even while links and directories are being replaced; links that stay below
// root are followed. A file has exactly one path: "//", "/./", "/../", backslashes and
// encoded slashes are not cleaned up; such paths are not found.
//
// It answers GET and HEAD with conditions (RFC 9110, 13) and ranges (RFC 9110, 14). The
// kernel sends the body directly from the file. If a file is truncated meanwhile, the
// connection is cut. FileServer panics if o.CacheControl is not a valid field value.
func FileServer(root *os.Root, o FileOptions) HandlerFunc {
	if o.Index == "" {
		o.Index = "index.html"
	}
	if !exchange.ValidValue(o.CacheControl) {
		panic("redline: FileServer: Cache-Control contains control characters")
	}
	mime.TypeByExtension(".html") // reads the system's tables now, not on an event loop
	return (&fileServer{FileOptions: o, root: root}).serve
}

type fileServer struct {
	FileOptions
	root *os.Root
}

func (s *fileServer) serve(c *Ctx) {
	x := c.exchange()
	if x.Method != exchange.MethodGet && x.Method != exchange.MethodHead {
		x.Response.Replace(exchange.Line{Name: "Allow", Value: "GET, HEAD"})
		c.Error(405)
		return
	}
	name, dir, ok := static.Name(c.mounted(), s.DotFiles)
	if !ok {
		s.missing(c)
		return
	}
	f, name, err := s.open(name, dir)
	switch {
	case errors.Is(err, errRedirect):
		s.redirect(c)
		return
	case errors.Is(err, static.ErrNotFile), errors.Is(err, static.ErrDirectory):
		s.missing(c)
		return
	case err == nil && s.Precompressed:
		x.Lines = append(x.Lines, exchange.Line{Name: "Vary", Value: "Accept-Encoding"})
		f, err = f.Variant(s.root, name, fieldList(x, exchange.HeaderAcceptEncoding))
	}
	if err == nil {
		err = s.send(c, f, name)
	}
	if f != nil {
		err = errors.Join(err, f.Close())
	}
	if err != nil && !x.HeadSent { // otherwise the missing part of the body cuts the connection
		c.frame().server.logger().Error("static file", "name", name, "error", err)
		x.ResetResponse()
		c.Error(500)
	}
}

// mounted returns the part of the path that names the file, percent-encoded.
func (c *Ctx) mounted() []byte {
	x := c.exchange()
	f := x.Local.(*frame)
	if f.route != nil && strings.HasSuffix(f.route.pattern, "...}") && f.params.n > 0 {
		return f.params.last(x)
	}
	return bytes.TrimPrefix(pathOf(x), []byte{'/'})
}

// errRedirect reports that a directory was requested without its slash.
var errRedirect = errors.New("directory without a slash")

// open opens the file, or the index of the directory, and returns its name.
func (s *fileServer) open(name string, dir bool) (*static.File, string, error) {
	f, err := static.Open(s.root, name)
	switch {
	case err == nil && dir:
		return nil, name, errors.Join(static.ErrNotFile, f.Close()) // "file/"
	case !errors.Is(err, static.ErrDirectory) || s.NoIndex:
		return f, name, err
	}
	name = path.Join(name, s.Index)
	f, err = static.Open(s.root, name)
	if err == nil && !dir {
		return nil, name, errors.Join(errRedirect, f.Close())
	}
	return f, name, err
}

func (s *fileServer) missing(c *Ctx) {
	if s.NotFound != nil {
		s.NotFound(c)
		return
	}
	c.Error(404)
}

// redirect adds the trailing slash of a directory's path, so that relative references in
// its index resolve below it. The location is relative to the last segment, and so cannot
// lead to another host, as "//host/" would.
func (s *fileServer) redirect(c *Ctx) {
	x := c.exchange()
	raw := string(pathOf(x))
	location := "./" + raw[strings.LastIndexByte(raw, '/')+1:] + "/"
	if x.HasQuery {
		location += "?" + string(x.QueryBytes())
	}
	if err := c.Redirect(301, location); err != nil {
		c.Error(404) // the parser passes nothing that a field cannot hold
	}
}

// send answers with a file or a variant of it. name is the name of the file.
func (s *fileServer) send(c *Ctx, f *static.File, name string) error {
	r := &c.exchange().Response
	tag := ""
	if s.ETag == nil {
		tag = f.Tag()
	} else if tag = s.ETag(f.Info); tag != "" && !static.ValidTag(tag) {
		return fmt.Errorf("ETag of FileOptions: %q is not an entity tag (RFC 9110, 8.8.3)", tag)
	}
	if s.CacheControl != "" {
		r.Lines = append(r.Lines, exchange.Line{Name: "Cache-Control", Value: s.CacheControl})
	}
	if !s.Sniff {
		r.Lines = append(r.Lines, exchange.Line{Name: "X-Content-Type-Options", Value: "nosniff"})
	}
	if f.Coding != "" {
		r.Lines = append(r.Lines, exchange.Line{Name: "Content-Encoding", Value: f.Coding})
	}
	return c.represent(f, tag, typeOf(name))
}

// ServeFile answers GET or HEAD with an open regular file, as a FileServer does: with
// conditions and ranges. Content-Type and ETag are kept if they are set; otherwise the
// file's name determines the type. f stays with the caller, who may close it when ServeFile
// has returned. If an error occurs before anything was sent, the caller has to answer; any
// other error cuts the connection.
func (c *Ctx) ServeFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "serve", Path: f.Name(), Err: errors.New("not a regular file")}
	}
	r := &c.exchange().Response
	file := &static.File{File: f, Info: info, Size: info.Size(), ModTime: info.ModTime()}
	tag, set := r.GetLine("ETag")
	if !set {
		tag = file.Tag()
	} else if r.Del("ETag"); !static.ValidTag(tag) {
		return fmt.Errorf("ETag %q is not an entity tag (RFC 9110, 8.8.3)", tag)
	}
	contentType, set := r.GetLine("Content-Type")
	if !set {
		contentType = typeOf(f.Name())
	}
	return c.represent(file, tag, contentType)
}

// SendFile sends n bytes of f, from offset off, as part of the body; if nothing was written
// before and no length announced, as the whole body. It returns when the kernel has
// accepted everything, which waits for the client; the caller may then close f. If the file
// is shorter, SendFile returns an error and cuts the connection. The other errors are those
// of Write, and os.ErrInvalid for a nil f or a negative number.
func (c *Ctx) SendFile(f *os.File, off, n int64) error {
	x := c.exchange()
	if f == nil || off < 0 || n < 0 {
		return os.ErrInvalid
	}
	if !x.Local.(*frame).streams {
		c.whole(n)
	}
	return x.Session.SendFile(x, f, off, n)
}

// typeOf returns the media type of a file by its name.
func typeOf(name string) string {
	if t := mime.TypeByExtension(filepath.Ext(name)); t != "" && exchange.ValidValue(t) {
		return t
	}
	return "application/octet-stream"
}

// represent answers with what the request's conditions and ranges leave of a
// representation.
func (c *Ctx) represent(f *static.File, tag, contentType string) error {
	x := c.exchange()
	r := &x.Response
	line := func(name, value string) { r.Lines = append(r.Lines, exchange.Line{Name: name, Value: value}) }
	if tag != "" {
		line("ETag", tag)
	}
	if static.Dated(f.ModTime) {
		t := f.ModTime
		if now := clock.Now(); t.After(now) {
			t = now // never later than Date (RFC 9110, 8.8.2.1)
		}
		line("Last-Modified", t.UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"))
	}
	cond := static.Conditions{
		IfMatch: fieldList(x, exchange.HeaderIfMatch), IfNoneMatch: fieldList(x, exchange.HeaderIfNoneMatch),
		IfModifiedSince:   fieldList(x, exchange.HeaderIfModifiedSince),
		IfUnmodifiedSince: fieldList(x, exchange.HeaderIfUnmodifiedSince), IfRange: fieldList(x, exchange.HeaderIfRange),
	}
	switch cond.Evaluate(tag, f.ModTime) {
	case static.NotModified:
		r.Del("Content-Type")
		r.Del("Content-Encoding") // RFC 9110, 15.4.5
		c.NoContent(304)
		return nil
	case static.Failed:
		r.Del("Content-Encoding")
		c.Error(412)
		return nil
	}
	line("Accept-Ranges", "bytes")
	var ranges []static.Range
	if x.Method == exchange.MethodGet && x.Has(exchange.HeaderRange) && cond.RangeApplies(tag, f.ModTime) {
		var err error
		if ranges, err = static.ParseRange(fieldList(x, exchange.HeaderRange), f.Size); err != nil {
			r.Del("Content-Encoding")
			line("Content-Range", static.Unsatisfied(f.Size))
			c.Error(416)
			return nil
		}
	}
	switch len(ranges) {
	case 0:
		r.Replace(exchange.Line{Name: "Content-Type", Value: contentType})
		return c.sendPart(f, static.Range{Length: f.Size})
	case 1:
		c.Status(206)
		r.Replace(exchange.Line{Name: "Content-Type", Value: contentType})
		line("Content-Range", ranges[0].ContentRange(f.Size))
		return c.sendPart(f, ranges[0])
	}
	c.Status(206)
	return c.sendParts(f, ranges, contentType)
}

// smallFile is how much of a file is sent from a buffer, together with the head, rather
// than by a separate call.
const smallFile = 4 << 10

// sendPart sends a part of a file as the whole body.
func (c *Ctx) sendPart(f *static.File, r static.Range) error {
	x := c.exchange()
	if x.Method == exchange.MethodHead || r.Length > smallFile {
		x.Response.Length = r.Length
		return c.SendFile(f.File, r.Start, r.Length)
	}
	n := int(r.Length)
	x.Body = slices.Grow(x.Body[:0], n)[:n]
	if k, err := f.ReadAt(x.Body, r.Start); k < n {
		x.Body = x.Body[:0]
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("read %s: %w", f.Name(), err)
	}
	return nil
}

// sendParts sends several parts as multipart/byteranges (RFC 9110, 14.6).
func (c *Ctx) sendParts(f *static.File, ranges []static.Range, contentType string) error {
	boundary := rand.Text()
	heads := make([]string, len(ranges))
	end := "\r\n--" + boundary + "--\r\n"
	total := int64(len(end))
	for i, r := range ranges {
		heads[i] = "\r\n--" + boundary + "\r\nContent-Type: " + contentType +
			"\r\nContent-Range: " + r.ContentRange(f.Size) + "\r\n\r\n"
		if i == 0 {
			heads[i] = heads[i][2:] // no part goes before
		}
		total += int64(len(heads[i])) + r.Length
	}
	c.exchange().Response.Replace(exchange.Line{Name: "Content-Type", Value: "multipart/byteranges; boundary=" + boundary})
	c.SetContentLength(total)
	for i, r := range ranges {
		if _, err := c.WriteString(heads[i]); err != nil {
			return err
		}
		if err := c.SendFile(f.File, r.Start, r.Length); err != nil {
			return err
		}
	}
	_, err := c.WriteString(end)
	return err
}

// fieldList returns the value of a field; the values of several field lines are joined with
// commas (RFC 9110, 5.3).
func fieldList(x *exchange.Exchange, id exchange.HeaderID) string {
	if !x.Has(id) {
		return ""
	}
	first, _ := x.Request.Get(id)
	all := string(first)
	seen := false
	for i := range x.Fields {
		if f := &x.Fields[i]; f.ID == id {
			if seen {
				all += ", " + string(f.Value.In(x.Head))
			}
			seen = true
		}
	}
	return all
}
