package imports

import (
	"bytes"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/load/scenario"
)

// Curl reads a script of curl commands, such as browsers copy. The requests are made in turn.
// read returns the content of a file that becomes part of a request; nil: such files are
// errors. name is that of the source in errors.
func Curl(name string, source []byte, read func(string) ([]byte, error)) (*Scenario, error) {
	sh := &shell{name: name}
	err := sh.commands(source)
	if err == nil {
		var s *Scenario
		if s, err = curls(name, sh.out, read); err == nil {
			return s, nil
		}
	}
	if bad, ok := errors.AsType[*scenario.Error](err); ok && caret.Match(source) {
		bad.Do = "copy the command for bash: this is one for Windows' cmd"
	}
	return nil, err
}

// caret matches commands for Windows' cmd, which quotes with carets.
var caret = regexp.MustCompile(`\^\s*\n|\^"`)

// CurlWords is [Curl] for the words of one command, with or without the first one, curl.
func CurlWords(words []string, read func(string) ([]byte, error)) (*Scenario, error) {
	if len(words) > 0 && words[0] != "curl" {
		words = append([]string{"curl"}, words...)
	}
	return curls("command line", []command{{words: words}}, read)
}

func curls(name string, list []command, read func(string) ([]byte, error)) (*Scenario, error) {
	s := &Scenario{Sequence: true}
	for _, c := range list {
		words := c.words
		if len(words) > 0 && words[0] == "$" { // the prompt
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		if tool := strings.TrimSuffix(filepath.Base(words[0]), ".exe"); tool != "curl" {
			return nil, flaw(name, c.line, "keep only the curl commands", "the command %.60q is not curl", words[0])
		}
		p := &curl{scenario: s, name: name, line: c.line, read: read}
		if err := p.command(words[1:]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// curl is the state of one command, up to --next.
type curl struct {
	scenario *Scenario
	name     string
	line     int
	read     func(string) ([]byte, error)

	urls       []string
	method     string
	head, get  bool
	header     []Field
	extra      []Field  // that options set, unless header has them
	without    []string // names of fields that -H 'Name:' removes
	data       []datum
	json       bool
	query      []string
	form       []string
	plainForm  []bool // whether a part of form is literal
	upload     string
	cookies    []string
	compressed bool
	globoff    bool
}

// datum is a piece of a body.
type datum struct {
	text   string
	file   string // name of the file that contains it, if not empty
	strip  bool   // the file is read without its line breaks
	encode bool   // the file is percent-encoded
}

func (c *curl) fail(do, what string, args ...any) error {
	return flaw(c.name, c.line, do, what, args...)
}

// command parses the words after curl.
func (c *curl) command(words []string) error {
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "--next" || w == "-:":
			if err := c.finish(); err != nil {
				return err
			}
			*c = curl{scenario: c.scenario, name: c.name, line: c.line, read: c.read}
		case strings.HasPrefix(w, "--") && len(w) > 2:
			o, ok := curlOptions[w[2:]]
			if no, negated := strings.CutPrefix(w[2:], "no-"); !ok && negated {
				if o, ok = curlOptions[no]; ok && !o.value {
					continue // the default
				}
			}
			if !ok {
				return c.unknown(w)
			}
			taken, err := c.option(w, o, words[i+1:])
			if err != nil {
				return err
			}
			i += taken
		case strings.HasPrefix(w, "-") && len(w) > 1 && w != "--":
			taken, err := c.short(w, words[i+1:])
			if err != nil {
				return err
			}
			i += taken
		case w != "--":
			c.urls = append(c.urls, w)
		}
	}
	return c.finish()
}

// short parses options of one letter, such as -sSL or -XPOST.
func (c *curl) short(w string, rest []string) (taken int, err error) {
	for at := 1; at < len(w); at++ {
		o, ok := curlOptions[curlLetters[w[at]]]
		if !ok {
			return 0, c.unknown("-" + w[at:at+1])
		}
		if !o.value {
			if _, err := c.option("-"+w[at:at+1], o, nil); err != nil {
				return 0, err
			}
			continue
		}
		if at+1 < len(w) {
			_, err := c.option("-"+w[at:at+1], o, []string{w[at+1:]})
			return 0, err
		}
		return c.option("-"+w[at:at+1], o, rest)
	}
	return 0, nil
}

func (c *curl) unknown(w string) error {
	return c.fail("remove it if the requests are the same without it", "curl's option %.60q is not known here", w)
}

// option applies an option, and returns how many words it takes from rest.
func (c *curl) option(w string, o curlOption, rest []string) (taken int, err error) {
	value := ""
	if o.value {
		if len(rest) == 0 {
			return 0, c.fail("write its value after it", "curl's option %s has no value", w)
		}
		value, taken = rest[0], 1
	}
	note := o.note
	if o.tell != nil {
		note = o.tell(value)
	}
	if note != "" {
		c.scenario.note("curl's option %s: %s", w, note)
	}
	if o.set == nil {
		return taken, nil
	}
	return taken, o.set(c, value)
}

// finish adds the requests of the command: one for each URL.
func (c *curl) finish() error {
	if len(c.urls) == 0 {
		return c.fail("write the URL as one word, in quotes", "a curl command without a URL")
	}
	base := Request{Line: c.line, Header: c.header}
	if err := c.body(&base); err != nil {
		return err
	}
	for _, f := range c.extra {
		base.set(f.Name, f.Value)
	}
	if len(c.cookies) > 0 {
		base.set("Cookie", strings.Join(c.cookies, "; "))
	}
	if c.compressed {
		base.set("Accept-Encoding", "deflate, gzip, br, zstd")
	}
	switch {
	case c.method != "":
		base.Method = c.method
	case c.head:
		base.Method = "HEAD"
	case c.upload != "":
		base.Method = "PUT"
	default:
		base.Method = method("", base.Body != nil)
	}
	for _, u := range c.urls {
		r := base
		r.Header = slices.Clone(base.Header)
		if base.Body != nil {
			r.Body = new(*base.Body)
		}
		var err error
		if r.URL, err = c.url(u); err != nil {
			return err
		}
		c.scenario.framing(&r)
		if err := c.scenario.check(c.name, &r); err != nil {
			return err
		}
		if err := c.scenario.add(c.name, r); err != nil {
			return err
		}
	}
	return nil
}

// url completes a URL as curl does.
func (c *curl) url(u string) (string, error) {
	if !strings.Contains(u, "://") {
		u = "http://" + u
	}
	origin, rest := u, ""
	if at := strings.Index(u, "://") + 3; strings.ContainsAny(u[at:], "/?#") {
		at += strings.IndexAny(u[at:], "/?#")
		origin, rest = u[:at], u[at:]
	}
	if !c.globoff && strings.ContainsAny(rest, "{}[]") {
		return "", c.fail("add --globoff for the characters themselves, or write a command for each URL", "curl expands {a,b} and [1-9] in %.100q", u)
	}
	rest, _, _ = strings.Cut(rest, "#")
	for _, q := range c.query {
		separator := "?"
		if strings.Contains(rest, "?") {
			separator = "&"
		}
		if q != "" {
			rest += separator + q
		}
	}
	return origin + rest, nil
}

// content returns a datum, reading its file.
func (c *curl) content(d datum) (string, error) {
	if d.file == "" {
		return d.text, nil
	}
	data, err := c.file(d.file)
	if err != nil {
		return "", err
	}
	if d.strip {
		for _, c := range []string{"\r", "\n", "\x00"} {
			data = bytes.ReplaceAll(data, []byte(c), nil)
		}
	}
	if d.encode {
		return d.text + percent(string(data)), nil
	}
	return d.text + string(data), nil
}

// file reads a file that becomes part of the scenario.
func (c *curl) file(name string) ([]byte, error) {
	if name == "-" {
		return nil, c.fail("store it in a file and name that", "content from standard input")
	}
	if c.read == nil {
		return nil, c.fail("write its content into the command", "the file %q", name)
	}
	data, err := c.read(name)
	if err != nil {
		return nil, c.fail("name a readable file; names are relative to the current directory", "%v", err)
	}
	if len(data) > maxBody {
		return nil, c.fail("use --data-binary @FILE alone, which sends the file unchanged", "the file %q has %d bytes; a scenario contains at most %d", name, len(data), maxBody)
	}
	return data, nil
}

// body composes the content of the request.
func (c *curl) body(r *Request) error {
	kinds := 0
	for _, used := range []bool{len(c.data) > 0 && !c.get, len(c.form) > 0, c.upload != ""} {
		if used {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return c.fail("keep one of them", "data, a form and an upload in one command")
	case c.upload == "-" || c.upload == ".":
		return c.fail("store it in a file and name that", "content from standard input")
	case c.upload != "":
		r.Body = &Body{File: c.upload}
		return nil
	case len(c.form) > 0:
		return c.multipart(r)
	case len(c.data) == 0:
		return nil
	}
	if d := c.data[0]; len(c.data) == 1 && d == (datum{file: d.file}) && d.file != "-" && d.file != "" && !c.get {
		r.Body = &Body{File: d.file}
	} else {
		var all strings.Builder
		for i, d := range c.data {
			text, err := c.content(d)
			if err != nil {
				return err
			}
			if i > 0 && !c.json {
				all.WriteByte('&')
			}
			all.WriteString(text)
		}
		if c.get {
			c.query = append(c.query, all.String())
			return nil
		}
		r.Body = &Body{Text: all.String()}
	}
	kind := "application/x-www-form-urlencoded"
	if c.json {
		kind = "application/json"
		c.field(r, "Accept", kind)
	}
	c.field(r, "Content-Type", kind)
	return nil
}

// field sets a field that curl adds itself, unless the command sets or removes it.
func (c *curl) field(r *Request, name, value string) {
	if !slices.ContainsFunc(c.without, func(w string) bool { return strings.EqualFold(w, name) }) {
		r.set(name, value)
	}
}
