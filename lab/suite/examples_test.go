package suite

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/spawn"
)

const (
	examples  = "../../peers/external/examples"
	formatDoc = "../../docs/subjects.md"
)

// TestExamplesDoTheSameWork builds and starts the examples of docs/subjects.md, and checks
// every workload that they declare.
func TestExamplesDoTheSameWork(t *testing.T) {
	once(t)
	for _, example := range []struct{ name, runtime, version string }{
		{"go", "go", "version"},
		{"node", "node", "--version"},
		{"python", "python3", "--version"},
		{"rust", "rustc", "--version"},
	} {
		t.Run(example.name, func(t *testing.T) {
			out, err := exec.Command(example.runtime, example.version).CombinedOutput()
			if err != nil && !errors.Is(err, exec.ErrNotFound) {
				t.Fatalf("%v: %s", err, out)
			}
			if err != nil {
				t.Skipf("%s is not installed: %v", example.runtime, err)
			}
			name := "example-" + example.name
			b, c := benchOf(t, name, filepath.Join(examples, example.name+".yaml"))
			s := b.subjects[0]
			if err := c.prepare(t.Context(), s, b.tmp); err != nil {
				t.Fatal(err)
			}
			if err := b.sameWork(t.Context(), s, b.loads); err != nil {
				var failed *SubjectError
				if errors.As(err, &failed) {
					t.Log(failed.Stderr)
				}
				t.Fatal(err)
			}
			if !strings.ContainsAny(s.Title, "0123456789") {
				t.Errorf("the title has no version: %q", s.Title)
			}
			if _, asked := b.answers[answerKey{name, "pipeline16"}]; !asked || len(b.answers) < 6 {
				t.Errorf("responses %v", b.answers)
			}
		})
	}
}

// benchOf returns a comparison of one subject of a file, not started.
func benchOf(t *testing.T, name, file string) (*bench, *Catalogue) {
	t.Helper()
	c, err := OpenCatalogue(t.TempDir(), []string{file})
	if err != nil {
		t.Fatal(err)
	}
	c.kept = kept
	cfg := configOf(t, name)
	cfg.Workloads = Expand([]string{everything})
	g, err := guard.Start(cfg.Executable)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{cfg: cfg, guard: g, tmp: t.TempDir(), launcher: spawn.NewLauncher(), answers: map[answerKey][]byte{}}
	t.Cleanup(func() {
		b.launcher.Close()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := b.resolve(c); err != nil {
		t.Fatal(err)
	}
	b.loads = slices.DeleteFunc(b.loads, func(w *workload) bool { return !b.subjects[0].serves(w) })
	return b, c
}

// TestFormatIsDocumented checks that docs/subjects.md has every key, placeholder and workload,
// and the tested example.
func TestFormatIsDocumented(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	doc := read(formatDoc)
	var want []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Subject]()) {
		if key := field.Tag.Get("yaml"); key != "" {
			want = append(want, "| `"+key+"` |")
		}
	}
	for _, p := range placeholders {
		want = append(want, "`"+p+"`")
	}
	for _, name := range slices.Concat(Workloads(), standard[familySizes], httpsNames, http2Names, families) {
		want = append(want, "`"+name+"`")
	}
	for _, file := range []string{"python.yaml", "server.py"} {
		want = append(want, read(filepath.Join(examples, file)))
	}
	for _, text := range want {
		if !strings.Contains(doc, text) {
			t.Errorf("%s does not contain %s", formatDoc, text)
		}
	}
}

func TestSubjectFilesThatAreWrong(t *testing.T) {
	const good = "name: mine\ncommand: [mine, \"{addr}\"]\nurl: http://{addr}\n"
	for _, test := range []struct{ text, want string }{
		{"", "file is empty"},
		{good + "color: red\n", "field color not found"},
		{strings.Replace(good, "mine", "My server", 1), "use lower-case letters"},
		{"name: mine\nurl: http://{addr}\n", "command is missing"},
		{strings.Replace(good, "http:", "https:", 1), "neither command nor files contain {cert}"},
		{good + "workloads: [tls]\n", "a server with TLS has {cert}"},
		{strings.Replace(good, "http:", "ftp:", 1), "want http://{addr}, https://{addr}"},
		{strings.Replace(good, "{addr}\"", "{adr}\"", 1), "has the unknown placeholder {adr}"},
		{strings.Replace(good, "[mine", "[./mine", 1), "write {here}/mine"},
		{strings.Replace(good, "[mine", "[\"{bin}\"", 1), "there is no build: write build"},
		{good + "build: [make, \"{dir}\"]\n", "build: \"{dir}\" has the unknown placeholder {dir}"},
		{good + "files: {../x: y}\n", "outside the subject's directory"},
		{good + "workloads: [plain]\n", `unknown workload "plain"`},
	} {
		file := filepath.Join(t.TempDir(), "mine.yaml")
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := OpenCatalogue(t.TempDir(), []string{file})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "docs/subjects.md") {
			t.Errorf("%q: %v, want %q", test.text, err, test.want)
		}
	}
}

// TestBuildThatFails checks that the error has the command's output and what to install.
func TestBuildThatFails(t *testing.T) {
	for build, want := range map[string]string{
		"[go, build, -o, \"{bin}\", nothing.go]":    "nothing.go",
		"[redline-has-no-such-compiler, \"{bin}\"]": "apt-get install compiler",
	} {
		file := filepath.Join(t.TempDir(), "mine.yaml")
		text := fmt.Sprintf("name: mine\nbuild: %s\ndebian: [compiler]\ncommand: [\"{bin}\"]\nurl: http://{addr}\n", build)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b, c := benchOf(t, "mine", file)
		if err := c.prepare(t.Context(), b.subjects[0], b.tmp); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", build, err, want)
		}
	}
}
