package imports

import (
	"net/url"
	"strings"
)

// curlOption says what an option of curl means for a scenario. Without set, note and tell it
// makes no difference to the requests.
type curlOption struct {
	value bool // a value follows
	set   func(c *curl, value string) error
	note  string
	tell  func(value string) string // the note for a value
}

// curlLetters are the options of one letter.
var curlLetters = map[byte]string{
	'X': "request", 'H': "header", 'd': "data", 'u': "user", 'b': "cookie", 'A': "user-agent", 'e': "referer", 'G': "get",
	'k': "insecure", 'I': "head", 'F': "form", 'T': "upload-file", 'L': "location", 'x': "proxy", 'g': "globoff", 'r': "range",
	'K': "config", 'E': "cert", 's': "silent", 'S': "show-error", 'v': "verbose", 'i': "include", 'f': "fail", 'N': "no-buffer",
	'O': "remote-name", 'J': "remote-header-name", 'o': "output", 'w': "write-out", 'D': "dump-header", 'c': "cookie-jar",
	'm': "max-time", 'j': "junk-session-cookies", '#': "progress-bar", 'Z': "parallel", '4': "ipv4", '6': "ipv6", 'q': "disable",
	'0': "http1.0", 'R': "remote-time", 'n': "netrc", 'a': "append", 'y': "speed-time", 'Y': "speed-limit", 'z': "time-cond",
	'1': "tlsv1", 'C': "continue-at",
}

// curlOptions are the options by their long names.
var curlOptions = func() map[string]curlOption {
	all := map[string]curlOption{
		"insecure":        {note: "give --insecure to redline load"},
		"location":        {note: "redirects are not followed; import the request for the final URL too"},
		"http2":           {note: "give --http2 to redline load"},
		"proxy":           {value: true, note: "left out: the server is loaded directly"},
		"resolve":         {value: true, note: "left out: give the server's address to redline load as its URL"},
		"connect-to":      {value: true, note: "left out: give the server's address to redline load as its URL"},
		"max-time":        {value: true, note: "left out: redline load has --timeout"},
		"connect-timeout": {value: true, note: "left out: redline load has --timeout"},
		"limit-rate":      {value: true, note: "left out: redline load has --slow-read"},
		"netrc":           {note: "left out: write -u NAME:PASSWORD"},
	}
	for name, set := range curlFlags {
		all[name] = curlOption{set: func(c *curl, _ string) error { set(c); return nil }}
	}
	for name, set := range curlValues {
		all[name] = curlOption{value: true, set: set}
	}
	for name, tell := range curlConnection {
		all[name] = curlOption{value: true, tell: tell}
	}
	for name := range strings.FieldsSeq(`silent show-error verbose include fail fail-early fail-with-body no-buffer buffer remote-name
		remote-name-all remote-header-name junk-session-cookies progress-bar progress-meter parallel parallel-immediate ipv4 ipv6
		http1.1 http1.0 tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 tcp-nodelay tcp-fastopen keepalive sessionid alpn npn ssl-no-revoke
		remote-time create-dirs path-as-is location-trusted post301 post302 post303 raw tr-encoding disable styled-output
		retry-all-errors retry-connrefused basic anyauth append http2-prior-knowledge http3 ssl compressed-ssh clobber`) {
		if _, ok := all[name]; !ok {
			all[name] = curlOption{}
		}
	}
	for name := range strings.FieldsSeq(`output write-out dump-header cookie-jar retry retry-delay retry-max-time max-redirs
		trace trace-ascii stderr output-dir keepalive-time interface local-port ciphers tls13-ciphers tls-max speed-time speed-limit
		parallel-max proto proto-default proto-redir max-filesize expect100-timeout happy-eyeballs-timeout-ms
		dns-servers noproxy proxy-user etag-save rate curves`) {
		all[name] = curlOption{value: true}
	}
	all["http2-prior-knowledge"] = all["http2"]
	return all
}()

// curlFlags are options without a value.
var curlFlags = map[string]func(c *curl){
	"get":        func(c *curl) { c.get = true },
	"head":       func(c *curl) { c.head = true },
	"compressed": func(c *curl) { c.compressed = true },
	"globoff":    func(c *curl) { c.globoff = true },
}

// curlValues are options with a value.
var curlValues = map[string]func(c *curl, value string) error{
	"request":        func(c *curl, v string) error { c.method = v; return nil },
	"url":            func(c *curl, v string) error { c.urls = append(c.urls, v); return nil },
	"header":         (*curl).headerLine,
	"data":           func(c *curl, v string) error { return c.piece(v, true) },
	"data-ascii":     func(c *curl, v string) error { return c.piece(v, true) },
	"data-binary":    func(c *curl, v string) error { return c.piece(v, false) },
	"data-raw":       func(c *curl, v string) error { c.data = append(c.data, datum{text: v}); return nil },
	"json":           func(c *curl, v string) error { c.json = true; return c.piece(v, false) },
	"data-urlencode": func(c *curl, v string) error { c.data = append(c.data, encoded(v)); return nil },
	"url-query":      (*curl).urlQuery,
	"form": func(c *curl, v string) error {
		c.form, c.plainForm = append(c.form, v), append(c.plainForm, false)
		return nil
	},
	"form-string": func(c *curl, v string) error {
		c.form, c.plainForm = append(c.form, v), append(c.plainForm, true)
		return nil
	},
	"upload-file":   func(c *curl, v string) error { c.upload = v; return nil },
	"user":          (*curl).user,
	"oauth2-bearer": func(c *curl, v string) error { return c.own("Authorization", "Bearer "+v) },
	"cookie":        (*curl).cookie,
	"user-agent":    func(c *curl, v string) error { return c.own("User-Agent", v) },
	"referer":       func(c *curl, v string) error { return c.own("Referer", strings.TrimSuffix(v, ";auto")) },
	"range":         func(c *curl, v string) error { return c.own("Range", "bytes="+v) },
}

// headerLine parses the value of -H.
func (c *curl) headerLine(v string) error {
	name, value, ok := strings.Cut(v, ":")
	empty, semicolon := strings.CutSuffix(v, ";")
	switch {
	case strings.HasPrefix(v, "@"):
		return c.fail("write each of its lines with -H", "header fields in the file %.60q", v[1:])
	case ok && strings.TrimSpace(value) == "":
		c.without = append(c.without, strings.TrimSpace(name))
	case ok:
		c.header = append(c.header, Field{strings.TrimSpace(name), strings.TrimSpace(value)})
	case semicolon:
		c.header = append(c.header, Field{Name: empty})
	default:
		return c.fail("write -H 'Name: value'", "%.60q is not a header field", v)
	}
	return nil
}

// piece adds data; @ names the file that contains it.
func (c *curl) piece(v string, strip bool) error {
	if name, ok := strings.CutPrefix(v, "@"); ok {
		if name == "" {
			return c.fail("write @ and the name of a file", "data without a file")
		}
		c.data = append(c.data, datum{file: name, strip: strip})
		return nil
	}
	c.data = append(c.data, datum{text: v})
	return nil
}

// encoded parses the value of --data-urlencode: content, =content, name=content, @file or
// name@file.
func encoded(v string) datum {
	at := strings.IndexAny(v, "=@")
	switch {
	case at < 0:
		return datum{text: percent(v)}
	case v[at] == '@':
		name := v[:at]
		if name != "" {
			name += "="
		}
		return datum{text: name, file: v[at+1:], encode: true}
	case at == 0:
		return datum{text: percent(v[1:])}
	default:
		return datum{text: v[:at+1] + percent(v[at+1:])}
	}
}

// percent escapes everything but unreserved characters.
func percent(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// urlQuery parses the value of --url-query, which is that of --data-urlencode, or + and text
// that is added unchanged.
func (c *curl) urlQuery(v string) error {
	if plain, ok := strings.CutPrefix(v, "+"); ok {
		c.query = append(c.query, plain)
		return nil
	}
	text, err := c.content(encoded(v))
	c.query = append(c.query, text)
	return err
}

// user parses the value of -u.
func (c *curl) user(v string) error {
	name, password, ok := strings.Cut(v, ":")
	if !ok {
		return c.fail("write -u NAME:PASSWORD", "-u without a password, which curl would ask for")
	}
	return c.own("Authorization", basic(name, password))
}

// cookie parses the value of -b.
func (c *curl) cookie(v string) error {
	if !strings.Contains(v, "=") {
		return c.fail("write -b 'name=value'", "the cookies of a file, %.60q", v)
	}
	c.cookies = append(c.cookies, strings.TrimSuffix(strings.TrimSpace(v), ";"))
	return nil
}

// own sets a field for which curl has an option; -H takes precedence.
func (c *curl) own(name, value string) error {
	c.extra = append(c.extra, Field{name, value})
	return nil
}
