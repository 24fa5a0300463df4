package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/load/drive"
)

const docs = "../../../docs/"

// inExamples makes a directory with the files that examples name the present one.
func inExamples(t *testing.T, more map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	files := map[string]string{
		"accounts.csv": "name,password\nann,x\nbob,y\ncid,z\n", "users.csv": "name\nann\n", "order.json": `{"item": 1}`,
		"order.tmpl": "${n}", "think.txt": "1ms\n", "targets.yaml": "targets: [{url: /}]\n",
	}
	for name, text := range more {
		files[name] = text
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// blocks are the fenced blocks of a document in one language.
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

// everything is a server that the examples of docs/scenario.md are content with.
func everything(t *testing.T) func(http.ResponseWriter, *http.Request, int64) {
	return func(w http.ResponseWriter, r *http.Request, _ int64) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return // the run is over
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Cart-Id", "7")
		if strings.HasSuffix(r.URL.Path, "/payment") {
			w.WriteHeader(http.StatusCreated)
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"id": 5, "state": "paid", "access_token": "t"}); err != nil {
			t.Log(err) // the run is over
		}
	}
}

// Every example of the reference plays, and nothing of it fails.
func TestLoadScenarioExamples(t *testing.T) {
	url, _ := serve(t, everything(t))
	base := strings.TrimSuffix(url, "/hello")
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
			if err := os.WriteFile(name, []byte(strings.ReplaceAll(text, "http://127.0.0.1:8080", base)), 0o600); err != nil {
				t.Fatal(err)
			}
			code, out, said := loadOf(t, t.Context(), short("-d", "500ms", "--targets", name, "--json", "-")...)
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

// words splits a line as a shell does: quotes hold together, # and | end it.
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

// Every command of the pages is one: it gets as far as a server that refuses it.
func TestLoadDocsCommands(t *testing.T) {
	var lines []string
	files := map[string]string{}
	for _, page := range []string{"load.md", "scenario.md"} {
		for _, block := range blocks(t, docs+page, "sh") {
			for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
				if line = strings.TrimSpace(line); strings.HasPrefix(line, "redline load ") {
					lines = append(lines, line)
				}
			}
		}
		for _, m := range regexp.MustCompile("(?s)```yaml\n# ([a-z]+\\.yaml)\n(.*?)```").FindAllStringSubmatch(readDoc(t, page), -1) {
			files[m[1]] = strings.ReplaceAll(m[2], "127.0.0.1:8080", "127.0.0.1:1")
		}
	}
	inExamples(t, files)
	for _, line := range lines {
		args := words(strings.ReplaceAll(line, "127.0.0.1:8080", "127.0.0.1:1"))
		code, out, said := loadOf(t, t.Context(), args[2:]...)
		want := 1
		if slices.Contains(args, "--try") {
			want = drive.ExitBroken
		}
		if code != want || !strings.Contains(out+said, "connection refused") {
			t.Errorf("%s: exit code %d, %s%s", line, code, out, said)
		}
	}
	if len(lines) < 10 {
		t.Errorf("%d commands", len(lines))
	}
}

func readDoc(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(docs + page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
