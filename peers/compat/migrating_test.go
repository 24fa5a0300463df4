package compat_test

import (
	"os"
	"strings"
	"testing"

	"github.com/redline-go/redline"
	"github.com/valyala/fasthttp"
)

// TestSnippets checks that the Go code of docs/migrating.md is compiled: each of its
// snippets is contained in one of these files, line for line.
func TestSnippets(t *testing.T) {
	compiled := read(t, "migrating_test.go") + read(t, "../../migrate_example_test.go")
	n := 0
	for i, part := range strings.Split(read(t, "../../docs/migrating.md"), "\n```") {
		language, snippet, _ := strings.Cut(part, "\n")
		if i%2 == 0 || !strings.HasPrefix(language, "go") {
			continue
		}
		if n++; !strings.Contains(compiled, trimmed(snippet)) {
			t.Errorf("nothing compiles this:\n%s", snippet)
		}
	}
	if n < 5 {
		t.Errorf("%d snippets found", n)
	}
}

// read returns a file without the indentation of its lines.
func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".md") {
		return string(b)
	}
	return trimmed(string(b))
}

// trimmed is a text without empty lines and indentation.
func trimmed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// oldGreet is a handler of fasthttp.
func oldGreet(ctx *fasthttp.RequestCtx) {
	name := string(ctx.QueryArgs().Peek("name"))
	if name == "" {
		ctx.Error("name is missing", fasthttp.StatusBadRequest)
		return
	}
	ctx.Response.Header.Set("Cache-Control", "no-store")
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString("Hello, " + name + "!")
}

// greet is what becomes of it.
func greet(c *redline.Ctx) {
	name := c.Query("name")
	if name == "" {
		c.Text(400, "name is missing")
		return
	}
	if err := c.SetHeader("Cache-Control", "no-store"); err != nil {
		c.Error(500)
		return
	}
	c.Text(200, "Hello, "+name+"!")
}
