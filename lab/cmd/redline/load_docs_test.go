package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/internal/pace"
	"github.com/redline-go/redline/lab/load/command"
)

const docs = "../../../docs/"

// inExamples changes to a directory with the files that the examples name.
func inExamples(t *testing.T, more map[string]string) {
	t.Helper()
	files := map[string]string{"users.csv": "name\nann\n", "order.tmpl": "${n}", "think.txt": "1ms\n", "targets.yaml": "targets: [{url: /}]\n"}
	for _, name := range []string{"accounts.csv", "order.json"} {
		text, err := os.ReadFile(filepath.Join(checkout, "examples/shop", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	t.Chdir(t.TempDir())
	for name, text := range more {
		files[name] = text
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// blocks returns the fenced blocks of a document in one language.
func blocks(t *testing.T, document, language string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		all = append(all, m[1])
	}
	return all
}

// openedShop holds the addresses of the server that the documents load.
type openedShop struct{ plain, secure string }

// place replaces the addresses of the documents in a text with those of the shop.
func (s openedShop) place(text string) string {
	return strings.NewReplacer("127.0.0.1:8080", s.plain, "127.0.0.1:8443", s.secure).Replace(text)
}

// programs is a directory for what several tests build. TestMain makes and removes it.
var programs string

// shopPackage is the server of the documents. Its path holds wherever in the workspace a test is.
const shopPackage = "github.com/redline-go/redline/examples/shop"

// builtShop builds the shop, once for all tests, and returns the path of the program.
var builtShop = sync.OnceValues(func() (string, error) {
	exe := filepath.Join(programs, "shop")
	if out, err := exec.Command("go", "build", "-o", exe, shopPackage).CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the shop: %w\n%s", err, out)
	}
	return exe, nil
})

// openShop builds the shop and starts it. It ends with the test.
func openShop(t *testing.T) openedShop {
	t.Helper()
	exe, err := builtShop()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-addr", "127.0.0.1:0", "-tls", "127.0.0.1:0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := cmd.Process.Signal(os.Interrupt)
		kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer kill.Stop()
		if err := errors.Join(err, cmd.Wait()); err != nil {
			t.Errorf("the shop ends with %v", err)
		}
	})
	var s openedShop
	if _, err := fmt.Fscanf(out, "listening on http://%s\nand on https://%s\n", &s.plain, &s.secure); err != nil {
		t.Fatalf("output of the shop: %v", err)
	}
	return s
}

// TestLoadScenarioExamples runs each example of the reference without failures.
func TestLoadScenarioExamples(t *testing.T) {
	once(t)
	server := openShop(t)
	examples := map[string][]string{}
	for _, language := range []string{"yaml", "vegeta"} {
		examples[language] = blocks(t, docs+"scenario.md", language)
	}
	inExamples(t, nil)
	n := 0
	for language, list := range examples {
		for _, text := range list {
			n++
			name := "example." + strings.NewReplacer("vegeta", "http").Replace(language)
			if err := os.WriteFile(name, []byte(server.place(text)), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, said := loadOf(t, t.Context(), short("-d", pace.Window(t200).String(), "--targets", name, "--json", "-")...)
			if out == "" {
				t.Errorf("exit code %d, %s of\n%s", code, said, text)
				continue
			}
			d := documentOf(t, out)
			for _, target := range d.Targets {
				if len(target.Checks) > 0 || target.Errors > 0 {
					t.Errorf("%+v of\n%s", target, text)
				}
			}
			if code != 0 || d.Requests == 0 || len(d.Errors) > 0 {
				t.Errorf("exit code %d, %d requests, errors %v, %s of\n%s", code, d.Requests, d.Errors, said, text)
			}
		}
	}
	if n < 5 {
		t.Errorf("%d examples", n)
	}
}

// words splits a line like a shell: quotes group words, # and | end the line.
func words(line string) (out []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|(#.*|\|.*)|([^\s'"#|]+)`).FindAllStringSubmatch(line, -1) {
		switch {
		case m[3] != "":
			return out
		case m[0][0] == '\'':
			out = append(out, m[1])
		case m[0][0] == '"':
			out = append(out, m[2])
		default:
			out = append(out, m[4])
		}
	}
	return out
}

// echoed matches a command after a pipe.
var echoed = regexp.MustCompile(`^echo '([^']*)' \| (redline load .*)$`)

// commands returns the loads of the documents, and the files in their blocks.
func commands(t *testing.T) (lines []string, files map[string]string) {
	t.Helper()
	files = map[string]string{}
	for _, page := range pages {
		for _, line := range shellLines(t, docs+page) {
			if echoed.MatchString(line) {
				lines = append(lines, line)
				continue
			}
			for _, command := range simple(line) {
				if strings.HasPrefix(command, "redline load ") {
					lines = append(lines, command)
				}
			}
		}
		for _, block := range blocks(t, docs+page, "yaml") {
			if first, rest, _ := strings.Cut(block, "\n"); strings.HasPrefix(first, "# ") && strings.HasSuffix(first, ".yaml") {
				files[first[2:]] = rest
			}
		}
	}
	return lines, files
}

// given sets the standard input to the input of a command, and returns the command.
func given(t *testing.T, line string) string {
	t.Helper()
	m := echoed.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	file, err := os.Open(textFile(t, "stdin", m[1]))
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdin
	os.Stdin = file
	t.Cleanup(func() { os.Stdin = old; file.Close() })
	return m[2]
}

// elsewhere are the flags of commands that need more than one server on this machine, or
// more time: only their syntax is tested.
var elsewhere = []string{"--find", "--bus", "--kubernetes", "--control", "--export"}

// TestLoadDocsCommands runs each command of the documents against their server, shortened:
// none is refused, and no answer is wrong.
func TestLoadDocsCommands(t *testing.T) {
	once(t)
	lines, files := commands(t)
	server := openShop(t)
	for name, text := range files {
		files[name] = server.place(text)
	}
	resp, err := http.Get("http://" + server.plain + "/ca") // like curl in the document
	if err != nil {
		t.Fatal(err)
	}
	ca, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	files["shop.pem"] = string(ca)
	inExamples(t, files)
	var requests uint64
	loaded := 0
	for _, line := range lines {
		if slices.ContainsFunc(elsewhere, func(flag string) bool { return strings.Contains(line, flag+" ") }) {
			continue
		}
		loaded++
		t.Run(line, func(t *testing.T) {
			args := words(given(t, server.place(line)))[2:]
			if slices.Contains(args, "--try") {
				if code, out, said := loadOf(t, t.Context(), args...); code != 0 || !strings.Contains(out, "= right") {
					t.Errorf("exit code %d, %s%s", code, out, said)
				}
				return
			}
			window := "100ms"
			if slices.Contains(args, "--profile") { // captures each second: at a rate, which leaves the CPUs idle
				window, args = "2s", append(args, "-r", "500")
			}
			if slices.Contains(args, "--upload") {
				args = append(args, "--upload", "64KiB")
			}
			if slices.Contains(args, "--streams") {
				args = append(args, "--streams", "4")
			}
			args = append(args, "-d", window, "--warmup", "0", "-c", "64", "--allow-invalid", "--quiet", "--json", "-")
			code, out, said := loadOf(t, t.Context(), args...)
			if out == "" || code != 0 && code != command.ExitBroken { // few objectives are kept in a short window
				t.Fatalf("exit code %d, %s%s", code, out, said)
			}
			d := documentOf(t, out)
			if requests += d.Requests; len(d.Errors) > 0 {
				t.Errorf("errors %v", d.Errors)
			}
		})
	}
	if loaded < 30 || requests == 0 {
		t.Errorf("%d commands, %d requests", loaded, requests)
	}
}

// TestLoadDocsElsewhere checks the syntax of the other commands of the documents: none is
// refused as wrong usage. There is no server to load.
func TestLoadDocsElsewhere(t *testing.T) {
	closed := openedShop{"127.0.0.1:1", "127.0.0.1:1"}
	lines, files := commands(t)
	inExamples(t, files)
	n := 0
	for _, line := range lines {
		if !slices.ContainsFunc(elsewhere, func(flag string) bool { return strings.Contains(line, flag+" ") }) {
			continue
		}
		n++
		t.Run(line, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			args := words(strings.ReplaceAll(closed.place(line), "127.0.0.1:8081", closed.plain))
			code, out, said := loadOf(t, ctx, args[2:]...)
			want, says := 1, "connection refused"
			if slices.Contains(args, "--kubernetes") && !slices.Contains(args, "--apply") { // sends nothing to the server
				want, says = 0, "kubectl apply -f "
			}
			if code != want || !strings.Contains(out+said, says) {
				t.Errorf("exit code %d, %s%s", code, out, said)
			}
		})
	}
	if n < 4 {
		t.Errorf("%d commands", n)
	}
}
