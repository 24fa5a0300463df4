package scenario

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/load/scenario/dist"
)

// Options are settings that are not part of a scenario.
type Options struct {
	Base  string           // http://host:port for URLs without a server; overrides the file's base
	Think dist.Dist        // for requests whose file sets none
	Set   []string         // header fields, Name: value, added to every request; each replaces the file's field of that name
	Check []string         // checks of every response in their short form, see [ParseCheck]; they are treated like those of defaults
	FS    fs.FS            // file system to read from; nil: that of the operating system, with names relative to the scenario's directory
	Now   func() time.Time // clock for JWTs; nil: time.Now. It must be safe for concurrent use
}

// Error is one mistake in a scenario or in a file that it names.
type Error struct {
	File string
	Line int    // from 1; 0 if the mistake has no line
	What string // what is wrong
	Do   string // what to write instead
}

// Error returns the mistake on one line, in the form that editors recognize.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s; %s", e.File, e.Line, e.What, e.Do)
	}
	return fmt.Sprintf("%s: %s; %s", e.File, e.What, e.Do)
}

// Load reads and compiles a scenario: YAML (.yaml, .yml), JSON (.json), or, with any other
// file name, targets in vegeta's format. It returns all mistakes at once, up to 20, as
// [Error] values joined in the order of the lines. The caller must close the plan.
func Load(name string, o Options) (*Plan, error) {
	var data []byte
	var err error
	if o.FS != nil {
		data, err = fs.ReadFile(o.FS, name)
	} else {
		data, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	return Parse(name, data, o)
}

// Parse is [Load] for a text in memory; the name determines the format and the directory.
func Parse(name string, data []byte, o Options) (*Plan, error) {
	f, errs := parseFile(name, data)
	if f == nil {
		return nil, joined(errs)
	}
	return compile(name, f, errs, o)
}

// parseFile parses any of the formats. The file is nil if it cannot be parsed at all.
func parseFile(name string, data []byte) (*file, []*Error) {
	ext := strings.ToLower(filepath.Ext(name))
	yaml := ext == ".yaml" || ext == ".yml"
	var root *node
	var err error
	switch {
	case ext == ".json":
		root, err = readJSON(name, data)
	case !yaml && isTargets(data):
		return readTargets(name, data)
	default:
		root, err = readYAML(name, data)
	}
	if err == nil && root.kind != mapping {
		err = &Error{File: name, Line: root.line, What: root.describe() + " at the top level, want a mapping", Do: "write targets: with a list of requests, or flows: with lists of steps"}
	}
	var bad *Error
	if errors.As(err, &bad) {
		if !yaml && ext != ".json" {
			bad.Do += "; targets in vegeta's format begin with a method and a URL: GET http://host:port/path"
		}
		return nil, []*Error{bad}
	}
	b := &binder{name: name}
	f := new(file)
	b.bindFile(root, f)
	return f, b.errs
}

var (
	requestLine = regexp.MustCompile(`^[A-Z]+[ \t]`)
	protocol    = regexp.MustCompile(`[ \t]+HTTP/[0-9.]+$`) // as in a request line, and in the files of editors
	targetsLine = regexp.MustCompile(`^[A-Z]+[ \t]+(https?://|/)`)
)

// isTargets reports whether a text is in vegeta's format: the first line that is neither
// empty nor a comment is a method and a URL.
func isTargets(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return targetsLine.Match(line)
		}
	}
	return false
}

// readTargets parses vegeta's format: a line with method and URL, then header fields, then
// @ and the file of the body, up to an empty line or the next target. Lines that begin with
// # are comments. As in vegeta, targets are used in turn, and ${ is plain text.
func readTargets(name string, data []byte) (*file, []*Error) {
	b := &binder{name: name}
	f := &file{Order: literal("sequence", 1)}
	var t *target // that the current line belongs to
	n := 0
	for raw := range bytes.Lines(data) {
		n++
		line := strings.TrimSpace(string(raw))
		switch {
		case line == "":
			t = nil
		case line[0] == '#':
		case requestLine.MatchString(line):
			method := line[:strings.IndexAny(line, " \t")]
			url := strings.TrimSpace(protocol.ReplaceAllString(line[len(method):], ""))
			f.Targets = append(f.Targets, target{step: step{Line: n, Method: literal(method, n), URL: literal(url, n), verbatim: true}})
			t = &f.Targets[len(f.Targets)-1]
		case t == nil:
			b.fail(n, "begin a target with a method and a URL: GET http://host:port/path", "%s belongs to no target", excerpt(line))
		case line[0] == '@':
			if t.Body != nil {
				b.fail(n, "keep one @ line for each target", "a second body")
			}
			t.Body = &body{Line: n, File: literal(strings.TrimSpace(line[1:]), n)}
			if t.Body.File.s == "" {
				b.fail(n, "write @ and the path of a file", "a body without a file")
			}
		default:
			key, value, ok := strings.Cut(line, ":")
			if !ok {
				b.fail(n, "write Name: value for a header field, or METHOD URL for a target", "%s is neither a header field nor a target", excerpt(line))
				continue
			}
			t.Headers = append(t.Headers, entry[text]{key, n, literal(strings.TrimSpace(value), n)})
		}
	}
	return f, b.errs
}

// Targets parses a list of targets in vegeta's http format without compiling it. It returns
// all mistakes at once, as [Load] does.
func Targets(name string, data []byte) ([]Request, error) {
	f, errs := readTargets(name, data)
	if len(errs) > 0 {
		return nil, joined(errs)
	}
	out := make([]Request, len(f.Targets))
	for i, t := range f.Targets {
		out[i] = Request{Line: t.Line, Method: t.Method.s, URL: t.URL.s}
		for _, h := range t.Headers {
			out[i].Header = append(out[i].Header, h.name+":"+h.value.s)
		}
		if t.Body != nil {
			out[i].File = t.Body.File.s
		}
	}
	return out, nil
}

// Request is one request as described by flags, or by a list of targets.
type Request struct {
	Line    int    // in a file; 0: from flags
	Method  string // empty: GET, or POST if there is a body
	URL     string
	Header  []string // Name: value
	Body    string
	File    string // of the body
	Size    int64  // of a generated body, in bytes
	Chunked bool
}

// Single compiles a plan that consists of one request. It contains no variables: the
// request is constant. Errors name the file "command line".
func Single(r Request, o Options) (*Plan, error) {
	b := &binder{name: "command line"}
	st := step{URL: literal(r.URL, 0), verbatim: true}
	var bodies []string
	x := &body{}
	if r.Body != "" {
		bodies, x.Text = append(bodies, "a text"), literal(r.Body, 0)
	}
	if r.File != "" {
		bodies, x.File = append(bodies, "a file"), literal(r.File, 0)
	}
	if r.Size > 0 {
		bodies, x.Size = append(bodies, "a size"), literal(fmt.Sprint(r.Size), 0)
	}
	if len(bodies) > 1 {
		b.fail(0, "give one of them", "the body is %s", strings.Join(bodies, " and "))
	}
	method := r.Method
	if len(bodies) == 1 {
		st.Body = x
		method = cmp.Or(method, "POST")
	}
	if r.Chunked {
		x.Chunked = literal("true", 0)
		if len(bodies) == 0 {
			b.fail(0, "give a body, a file or a size", "chunks without a body")
		}
	}
	st.Method = literal(cmp.Or(method, "GET"), 0)
	st.Headers = b.pairs(r.Header)
	return compile(b.name, &file{Targets: []target{{step: st}}}, b.errs, o)
}

// compile makes a plan from a file, unless it contains mistakes.
func compile(name string, f *file, errs []*Error, o Options) (*Plan, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &compiler{
		binder: &binder{name: name, errs: errs},
		shared: &shared{
			o: o, dir: filepath.Dir(name), plan: &Plan{files: []string{name}}, slots: map[string]int32{}, broken: map[string]bool{},
			fills: map[string]pattern{}, opened: map[string]fileBody{}, named: map[string]int{},
		},
	}
	c.flags(f)
	c.file(f)
	if len(c.errs) > 0 {
		err := joined(c.errs)
		if e := c.plan.Close(); e != nil {
			err = errors.Join(err, e)
		}
		return nil, err
	}
	return c.plan, nil
}

// noRequests reports a file without requests, or with both targets and scenarios.
func (c *compiler) noRequests(f *file) {
	switch {
	case len(f.Scenarios) > 0 && len(f.Targets)+len(f.Flows) > 0:
		c.fail(f.Scenarios[0].Line, "move all targets and flows into scenarios", "targets or flows outside of scenarios")
	case len(f.Scenarios)+len(f.Targets)+len(f.Flows) == 0 && len(c.errs) == 0:
		c.fail(1, "write targets: with a list of requests, or flows: with lists of steps", "there are no requests")
	}
}

// joined sorts errors by line and removes duplicates, which mistakes in the defaults cause.
func joined(errs []*Error) error {
	slices.SortStableFunc(errs, func(a, b *Error) int { return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line) })
	errs = slices.CompactFunc(errs, func(a, b *Error) bool { return *a == *b })
	all := make([]error, len(errs))
	for i, e := range errs {
		all[i] = e
	}
	return errors.Join(all...)
}

// note records that the plan uses a file.
func (c *compiler) note(name string) {
	if !slices.Contains(c.plan.files, name) {
		c.plan.files = append(c.plan.files, name)
	}
}

// load reads a file that the scenario names.
func (c *compiler) load(name string) ([]byte, error) {
	name = c.path(name)
	var data []byte
	var err error
	if c.o.FS != nil {
		data, err = fs.ReadFile(c.o.FS, name)
	} else {
		data, err = os.ReadFile(name)
	}
	if err == nil {
		c.note(name)
	}
	return data, err
}

// read is load, but reports the error itself.
func (c *compiler) read(name text) ([]byte, bool) {
	data, err := c.load(name.s)
	if err != nil {
		c.fail(name.node.line, "give the path of a readable file, relative to the scenario's", "%v", err)
	}
	return data, err == nil
}
