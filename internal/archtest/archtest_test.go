package archtest

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRepository checks the repository against the rules.
func TestRepository(t *testing.T) {
	got, err := Check(os.DirFS("../.."), Redline)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range got {
		t.Error(b)
	}
}

// TestRulesAreSound finds duplicate rows and missing reasons.
func TestRulesAreSound(t *testing.T) {
	packages := map[string]bool{}
	for _, row := range Redline.Rows {
		if packages[row.Package] {
			t.Errorf("%s: two rows", row.Package)
		}
		packages[row.Package] = true
		if row.Why == "" {
			t.Errorf("%s: no reason", row.Package)
		}
	}
	for _, list := range []map[string]string{Redline.LongFiles, Redline.BigPackages, Redline.Unproofed} {
		for name, reason := range list {
			if reason == "" {
				t.Errorf("%s: no reason", name)
			}
		}
	}
}

// tree is a repository that follows the rules, plus some files.
func tree(more map[string]string) fstest.MapFS {
	files := map[string]string{
		"go.mod":                  "module github.com/redline-go/redline\n\ngo 1.26.0\n",
		"doc.go":                  "package redline\n",
		"contrib/doc.go":          "package contrib\n",
		"examples/chi/doc.go":     "package main\n",
		"lab/doc.go":              "package lab\n",
		"lab/diagnose/zoo/doc.go": "package zoo\n",
		"peers/doc.go":            "package peers\n",
	}
	maps.Copy(files, more)
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// importing is a Go file that imports some packages.
func importing(packages ...string) string {
	text := "package x\n\n"
	for _, p := range packages {
		text += fmt.Sprintf("import _ %q\n", strings.Replace(p, "~", Redline.Module, 1))
	}
	return text
}

// function is a Go file whose one function has n lines, with a comment above.
func function(comment string, n int) string {
	return "package x\n\n" + comment + "func f() {\n" + strings.Repeat("\tprintln()\n", n-2) + "}\n"
}

// pack is a package of n files.
func pack(dir string, n int, text string) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[path.Join(dir, fmt.Sprintf("f%02d.go", i))] = text
	}
	return files
}

// empty is the shortest Go file.
const empty = "package x\n"

// lines is a Go file of n lines.
func lines(n int) string { return empty + strings.Repeat("\n", n-1) }

// bare returns the rules without exceptions, which concern files that a synthetic tree
// does not have.
func (r Rules) bare() Rules {
	r.LongFiles, r.BigPackages = nil, nil
	return r
}

// hold checks a tree against the rules. It wants one breach that begins with want, or none
// if want is empty.
func hold(t *testing.T, tree fs.FS, rules Rules, want string) {
	t.Helper()
	got, err := Check(tree, rules)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case want == "" && len(got) > 0:
		t.Fatalf("got %q, want none", got)
	case want != "" && (len(got) != 1 || !strings.HasPrefix(got[0].String(), want)):
		t.Fatalf("got %q, want one that begins with %q", got, want)
	}
}

type testCase struct {
	name  string
	files map[string]string // added to a tree that follows the rules
	want  string            // beginning of the one breach; empty for none
}

// breaches has at least one tree for every rule.
var breaches = []testCase{
	{"ground imports ours", map[string]string{"internal/buf/x.go": importing("~/internal/clock")}, "internal/buf/x.go:3: imports github.com/redline-go/redline/internal/clock: base packages import nothing from this repository"},
	{"sibling", map[string]string{"internal/http1/x.go": importing("~/internal/http2")}, "internal/http1/x.go:3: imports github.com/redline-go/redline/internal/http2: protocol never does I/O"},
	{"subpackage of a sibling", map[string]string{"internal/http2/x.go": importing("~/internal/http1/scan")}, "internal/http2/x.go:3: imports"},
	{"protocol does I/O", map[string]string{"internal/http1/x.go": importing("io", "os")}, "internal/http1/x.go:4: imports os: protocol never does I/O"},
	{"protocol does I/O below a package", map[string]string{"internal/http2/x.go": importing("net/http/httptest")}, "internal/http2/x.go:3: imports net/http/httptest"},
	{"transport knows a protocol", map[string]string{"internal/transport/epoll/x.go": importing("~/internal/http1")}, "internal/transport/epoll/x.go:3: imports github.com/redline-go/redline/internal/http1: transport never knows a protocol"},
	{"transport knows another", map[string]string{"internal/transport/uring/x.go": importing("~/internal/transport/epoll")}, "internal/transport/uring/x.go:3: imports"},
	{"suite outside of tests", map[string]string{"internal/transport/std/x.go": importing("~/internal/transport/transporttest")}, "internal/transport/std/x.go:3: imports"},
	{"engine imports what is built on it", map[string]string{"x.go": importing("~/middleware")}, "x.go:3: imports github.com/redline-go/redline/middleware: the engine imports its own"},
	{"engine imports the lab", map[string]string{"x.go": importing("~/lab/results")}, "x.go:3: imports"},
	{"engine imports a subject", map[string]string{"x.go": importing("~/peers/limit")}, "x.go:3: imports"},
	{"engine imports contrib", map[string]string{"x.go": importing("~/contrib/nats")}, "x.go:3: imports"},
	{"engine imports the scanners", map[string]string{"x.go": importing("~/internal/http1/scan")}, "x.go:3: imports"},
	{"engine imports a third party", map[string]string{"x.go": importing("example.com/dep")}, "x.go:3: imports example.com/dep"},
	{"engine uses x/sys outside of sys", map[string]string{"internal/transport/epoll/x.go": importing("golang.org/x/sys/unix")}, "internal/transport/epoll/x.go:3: imports golang.org/x/sys/unix"},
	{"engine uses cgo", map[string]string{"internal/sys/x.go": importing("C")}, "internal/sys/x.go:3: imports C"},
	{"lab uses cgo", map[string]string{"lab/load/x.go": importing("C")}, "lab/load/x.go:3: imports C"},
	{"species uses cgo", map[string]string{"lab/diagnose/zoo/species/feed/x.go": importing("C")}, "lab/diagnose/zoo/species/feed/x.go:3: imports C"},
	{"middleware imports an internal", map[string]string{"middleware/x.go": importing("~/internal/buf")}, "middleware/x.go:3: imports github.com/redline-go/redline/internal/buf: code that is built on the engine uses only its public API"},
	{"push imports client", map[string]string{"push/x.go": importing("~/client")}, "push/x.go:3: imports"},
	{"contrib imports an internal", map[string]string{"contrib/nats/x.go": importing("~/internal/clock")}, "contrib/nats/x.go:3: imports"},
	{"contrib imports the lab", map[string]string{"contrib/nats/x.go": importing("~/lab/stats")}, "contrib/nats/x.go:3: imports"},
	{"lab imports the engine", map[string]string{"lab/machine/x.go": importing("~")}, "lab/machine/x.go:3: imports github.com/redline-go/redline: the instrument shares no code with what it measures"},
	{"lab imports an internal", map[string]string{"lab/machine/x.go": importing("~/internal/sys")}, "lab/machine/x.go:3: imports github.com/redline-go/redline/internal/sys: the instrument"},
	{"machine of bytes does I/O", map[string]string{"lab/load/h1/x.go": importing("net")}, "lab/load/h1/x.go:3: imports net: it never performs I/O"},
	{"statistics do I/O", map[string]string{"lab/stats/x.go": importing("os")}, "lab/stats/x.go:3: imports os: statistics are calculation"},
	{"client of the generator knows another", map[string]string{"lab/load/request/x.go": importing("~/lab/load/subscribe")}, "lab/load/request/x.go:3: imports github.com/redline-go/redline/lab/load/subscribe: a client of the generator depends neither on another"},
	{"spec knows who makes the load", map[string]string{"lab/load/spec/x.go": importing("~/lab/load/request")}, "lab/load/spec/x.go:3: imports"},
	{"species imports the lab", map[string]string{"lab/diagnose/zoo/species/feed/x.go": importing("~/lab/spawn")}, "lab/diagnose/zoo/species/feed/x.go:3: imports github.com/redline-go/redline/lab/spawn: a species is an ordinary service"},
	{"zoo imports the diagnosis outside of tests", map[string]string{"lab/diagnose/zoo/x.go": importing("~/lab/diagnose")}, "lab/diagnose/zoo/x.go:3: imports"},
	{"lab imports a subject", map[string]string{"lab/suite/x.go": importing("~/peers/limit")}, "lab/suite/x.go:3: imports"},
	{"test of the lab imports the engine", map[string]string{"lab/load/x_test.go": importing("~")}, "lab/load/x_test.go:3: imports"},
	{"subject imports an internal", map[string]string{"peers/redline/x.go": importing("~/internal/sys")}, "peers/redline/x.go:3: imports"},
	{"subject imports an integration", map[string]string{"peers/redline/x.go": importing("~/contrib/nats")}, "peers/redline/x.go:3: imports"},
	{"subject imports the lab", map[string]string{"peers/redline/x.go": importing("~/lab/results")}, "peers/redline/x.go:3: imports"},
	{"test imports a sibling", map[string]string{"internal/http1/x_test.go": importing("~/internal/http2")}, "internal/http1/x_test.go:3: imports"},
	{"other build tags", map[string]string{"internal/buf/x_plan9.go": "//go:build never\n\n" + importing("~/internal/clock")}, "internal/buf/x_plan9.go:5: imports"},
	{"generated file imports", map[string]string{"internal/buf/x.go": "// Code generated by x. DO NOT EDIT.\n\n" + importing("~/internal/clock")}, "internal/buf/x.go:5: imports"},
	{"package without a row", map[string]string{"internal/surprise/x.go": empty}, "internal/surprise/x.go: package github.com/redline-go/redline/internal/surprise is not in the import table"},
	{"folder whose name begins like one with a row", map[string]string{"labs/x.go": empty}, "labs/x.go: package"},
	{"folder without a row", map[string]string{"surprise/x.go": empty}, "surprise/x.go: package"},
	{"example imports a third party", map[string]string{"examples/sse/x.go": importing("github.com/go-chi/chi/v5")}, "examples/sse/x.go:3: imports github.com/go-chi/chi/v5: an example uses only the public API"},
	{"example of chi imports another third party", map[string]string{"examples/chi/x.go": importing("example.com/dep")}, "examples/chi/x.go:3: imports example.com/dep"},
	{"file that does not parse", map[string]string{"x.go": "package"}, "x.go: x.go:1:8: expected 'IDENT'"},

	{"requirement", map[string]string{"go.mod": "module m\n\nrequire example.com/dep v1.0.0\n"}, "go.mod:3: requires example.com/dep"},
	{"requirement in a block", map[string]string{"go.mod": "module m\n\nrequire (\n\tgolang.org/x/sys v0.30.0\n\t\"example.com/dep\" v1.0.0 // indirect\n)\n"}, "go.mod:5: requires example.com/dep"},
	{"requirement in a block without a space", map[string]string{"go.mod": "module m\n\nrequire(\n\texample.com/dep v1.0.0\n)\n"}, "go.mod:4: requires example.com/dep"},
	{"requirement after a block", map[string]string{"go.mod": "module m\nexclude(\n\texample.com/no v1.0.0\n)\nrequire golang.org/x/tools v0.30.0\n"}, "go.mod:5: requires golang.org/x/tools"},

	{"assembly", map[string]string{"internal/buf/x_amd64.s": ""}, "internal/buf/x_amd64.s: assembly"},
	{"assembly for the C preprocessor", map[string]string{"lab/load/x.S": ""}, "lab/load/x.S: assembly"},
	{"raw system call", map[string]string{"internal/transport/epoll/x.go": "package x\n\nimport \"syscall\"\n\nvar _ = syscall.RawSyscall6\n"}, "internal/transport/epoll/x.go:5: uses syscall.RawSyscall6"},
	{"raw system call by another name", map[string]string{"x.go": "package x\n\nimport s \"syscall\"\n\nvar _ = s.Syscall\n"}, "x.go:5: uses s.Syscall"},
	{"raw system call in a test", map[string]string{"x_test.go": "package x\n\nimport \"syscall\"\n\nvar _ = syscall.Syscall\n"}, "x_test.go:5: uses syscall.Syscall"},
	{"structure of the kernel", map[string]string{"internal/transport/std/x.go": "package x\n\nimport \"syscall\"\n\nvar e syscall.EpollEvent\n"}, "internal/transport/std/x.go:5: uses syscall.EpollEvent"},
	{"package syscall without a name", map[string]string{"x.go": "package x\n\nimport . \"syscall\"\n"}, "x.go:3: imports syscall without a name"},
	{"linkname", map[string]string{"x.go": "package x\n\n//go:linkname f syscall.rawSyscallNoError\nfunc f()\n"}, "x.go:3: reaches past the import table"},

	{"file over the soft limit", map[string]string{"lab/x.go": lines(401)}, "lab/x.go: 401 lines: a file of more than 400 lines has a reason"},
	{"file over the hard limit", map[string]string{"lab/x.go": lines(801)}, "lab/x.go: 801 lines: a file has 800 lines at most"},
	{"test file over the soft limit", map[string]string{"lab/x_test.go": lines(401)}, "lab/x_test.go: 401 lines"},
	{"long function", map[string]string{"lab/x.go": function("", 71)}, "lab/x.go:3: f has 71 lines"},
	{"long function, annotated without a reason", map[string]string{"lab/x.go": function("//archtest:long\n", 71)}, "lab/x.go:4: f has 71 lines"},
	{"annotation of a short function", map[string]string{"lab/x.go": function("//archtest:long because\n", 70)}, "lab/x.go:3: //archtest:long"},
	{"long function literal", map[string]string{"lab/x.go": strings.Replace(function("", 71), "func f", "var f = func", 1)}, "lab/x.go:3: function has 71 lines"},
	{"big package", pack("lab/x", 16, empty), "lab/x: 16 files: a package of more than 15 files has a reason"},
}

func TestBreaches(t *testing.T) {
	for _, c := range breaches {
		t.Run(c.name, func(t *testing.T) { hold(t, tree(c.files), Redline.bare(), c.want) })
	}
}

func TestAllowed(t *testing.T) {
	const generated = "// Code generated by x. DO NOT EDIT.\n\n"
	tests := pack("lab/x", 15, empty)
	tests["lab/x/x_test.go"] = empty
	cases := map[string]map[string]string{
		"nothing":                      {},
		"table":                        {"internal/http1/x.go": importing("io", "net/url", "~/internal/http1/scan", "~/internal/exchange")},
		"sys":                          {"internal/sys/x.go": "package x\n\nimport \"golang.org/x/sys/unix\"\n\nvar _ = unix.RawSyscall\n"},
		"errors of package syscall":    {"x.go": "package x\n\nimport \"syscall\"\n\nvar _ = syscall.EPIPE\n"},
		"name of a raw system call":    {"x.go": "package x\n\nimport \"syscall\"\n\nvar s struct{ Syscall syscall.Errno }\n\nvar _ = s.Syscall\n"},
		"raw system call in the lab":   {"lab/machine/x.go": "package x\n\nimport \"syscall\"\n\nvar _ = syscall.RawSyscall\n"},
		"assembly in scan":             {"internal/http1/scan/x_amd64.s": ""},
		"external test of its package": {"internal/buf/x_test.go": importing("~/internal/buf")},
		"test of a protocol does I/O":  {"internal/http1/x_test.go": importing("net", "os")},
		"test runs the suite":          {"internal/transport/epoll/x_test.go": importing("~/internal/transport/transporttest")},
		"example of chi imports it":    {"examples/chi/x.go": importing("~", "github.com/go-chi/chi/v5", "github.com/go-chi/chi/v5/middleware")},
		"subject uses the public API":  {"peers/redline/x.go": importing("~", "~/push", "example.com/dep")},
		"subject opens a socket":       {"peers/redline/x.go": importing("~/contrib/control")},
		"contrib uses the public API":  {"contrib/nats/x.go": importing("~", "~/push", "example.com/dep")},
		"requirements":                 {"go.mod": "module m\n\nrequire golang.org/x/sys v0.30.0\n\nrequire (\n\t// example.com/dep v1.0.0\n\tgolang.org/x/net v0.30.0 // indirect\n)\n"},
		"file at the limit":            {"lab/x.go": lines(400)},
		"function at the limit":        {"lab/x.go": function("", 70)},
		"package at the limit":         pack("lab/x", 15, empty),
		"tests do not count":           tests,
		"long file, generated":         {"lab/x.go": generated + function("", 900)},
		"long function, annotated":     {"lab/x.go": function("// f is long.\n//\n//archtest:long because\n", 71)},
		"big package, generated":       pack("lab/x", 16, generated+"package x\n"),
		"what the go command ignores":  {"lab/testdata/x.go": "?", "lab/_asm/x.go": "?", "lab/.hidden/x.go": "?", "lab/web/node_modules/x.go": "?", "lab/_x.go": "?"},
	}
	for name, files := range cases {
		t.Run(name, func(t *testing.T) { hold(t, tree(files), Redline.bare(), "") })
	}
}

func TestLongFiles(t *testing.T) {
	rules := Redline.bare()
	rules.LongFiles = map[string]string{"lab/x.go": "because"}
	for _, c := range []testCase{
		{"needed", map[string]string{"lab/x.go": lines(401)}, ""},
		{"short", map[string]string{"lab/x.go": lines(400)}, "lab/x.go: 400 lines: an exception is needed"},
		{"over the hard limit", map[string]string{"lab/x.go": lines(801)}, "lab/x.go: 801 lines: a file has 800 lines at most"},
		{"gone", nil, "lab/x.go: no such file: an exception is needed"},
	} {
		t.Run(c.name, func(t *testing.T) { hold(t, tree(c.files), rules, c.want) })
	}
}

func TestBigPackages(t *testing.T) {
	rules := Redline.bare()
	rules.BigPackages = map[string]string{"lab/x": "because"}
	for _, c := range []testCase{
		{"needed", pack("lab/x", 16, empty), ""},
		{"small", pack("lab/x", 15, empty), "lab/x: 15 files: an exception is needed"},
		{"gone", nil, "lab/x: no such package: an exception is needed"},
	} {
		t.Run(c.name, func(t *testing.T) { hold(t, tree(c.files), rules, c.want) })
	}
	rules.BigPackages = map[string]string{".": "because"}
	t.Run("at the top", func(t *testing.T) { hold(t, tree(pack(".", 16, empty)), rules, "") })
}

// TestNothingToHoldAgainst: a walk that misses a module must not pass.
func TestNothingToHoldAgainst(t *testing.T) {
	for name, want := range map[string]string{
		"peers/doc.go": "peers: no Go files",
		"doc.go":       ".: no Go files",
		"go.mod":       "go.mod: no such file",
	} {
		t.Run(name, func(t *testing.T) {
			files := tree(nil)
			delete(files, name)
			hold(t, files, Redline.bare(), want)
		})
	}
}

// TestUnreadable: a tree that cannot be read is an error, not a tree without breaches.
func TestUnreadable(t *testing.T) {
	if _, err := Check(os.DirFS(t.TempDir()+"/absent"), Redline); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("got %v, want %v", err, fs.ErrNotExist)
	}
}
