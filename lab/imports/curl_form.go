package imports

import (
	"bytes"
	"cmp"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// boundary separates the parts of a form; it is constant, so that an import is repeatable.
const boundary = "redline-5d3a7c1e9b2f4860"

// multipart composes a form of -F.
func (c *curl) multipart(r *Request) error {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	if err := w.SetBoundary(boundary); err != nil {
		return err
	}
	for i, part := range c.form {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			return c.fail("write -F name=value or -F name=@FILE", "the part %.60q of a form", part)
		}
		head, content, err := c.part(name, value, c.plainForm[i])
		if err != nil {
			return err
		}
		body, err := w.CreatePart(head)
		if err != nil {
			return err
		}
		if _, err := body.Write(content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if !utf8.Valid(out.Bytes()) {
		return c.fail("store the whole body in a file, and send that with --data-binary and the Content-Type", "a form with a binary file")
	}
	r.Body = &Body{Text: out.String()}
	c.field(r, "Content-Type", w.FormDataContentType())
	return nil
}

// part returns head and content of one part of a form.
func (c *curl) part(name, value string, plain bool) (textproto.MIMEHeader, []byte, error) {
	disposition := fmt.Sprintf("form-data; name=%q", name)
	if plain {
		return textproto.MIMEHeader{"Content-Disposition": {disposition}}, []byte(value), nil
	}
	value, kind, file := formSuffixes(value)
	content := []byte(value)
	if value != "" && (value[0] == '@' || value[0] == '<') {
		data, err := c.file(value[1:])
		if err != nil {
			return nil, nil, err
		}
		if content = data; value[0] == '@' {
			disposition += fmt.Sprintf("; filename=%q", cmp.Or(file, filepath.Base(value[1:])))
			kind = cmp.Or(kind, "application/octet-stream")
		}
	}
	head := textproto.MIMEHeader{"Content-Disposition": {disposition}}
	if kind != "" {
		head.Set("Content-Type", kind)
	}
	return head, content, nil
}

// formSuffixes cuts ;type= and ;filename= off the value of a part.
func formSuffixes(value string) (rest, kind, file string) {
	rest = value
	for {
		at := max(strings.LastIndex(rest, ";type="), strings.LastIndex(rest, ";filename="))
		if at < 0 {
			return rest, kind, file
		}
		key, v, _ := strings.Cut(rest[at+1:], "=")
		if key == "type" {
			kind = v
		} else {
			file = strings.Trim(v, `"`)
		}
		rest = rest[:at]
	}
}
