package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The requests that a source describes arrive at a server, in order.
func TestImport(t *testing.T) {
	var lock sync.Mutex
	var got []string
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, _ int64) {
		body, _ := io.ReadAll(r.Body)
		lock.Lock()
		defer lock.Unlock()
		got = append(got, fmt.Sprintf("%s %s %s %q %s", r.Method, r.RequestURI, r.Host, r.Header["X-Run"], body))
		if r.URL.Path == "/absent" {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	base := strings.TrimSuffix(url, "/hello")
	host := strings.TrimPrefix(base, "http://")
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("body.json", `{"item":7}`)
	entry := `{"startedDateTime":"2026-01-31T12:00:0%dZ","time":1,"request":{"method":"GET","url":"` + base + `/%s","headers":[{"name":"X-Run","value":"1"},{"name":"Host","value":"x"}]},"response":{"status":%d}}`
	curl := write("c.sh", "curl '"+base+"/a?b=c d' -H 'X-Run: ${1}'\ncurl -X PUT "+base+"/b --data-raw $'it\\'s\\n${x}' -s | jq\n")
	for format, c := range map[string]struct {
		args []string
		want []string
	}{
		"curl":       {[]string{curl}, []string{`GET /a?b=c%20d ` + host + ` ["${1}"] `, "PUT /b " + host + " [] it's\n${x}"}},
		"curl words": {[]string{"--", "curl", "-d", "a=b", base + "/c"}, []string{"POST /c " + host + " [] a=b"}},
		"har": {
			[]string{write("b.har", `{"log":{"entries":[`+fmt.Sprintf(entry, 0, "page", 200)+","+fmt.Sprintf(entry, 0, "absent", 404)+`]}}`)},
			[]string{"GET /page " + host + ` ["1"] `, "GET /absent " + host + ` ["1"] `},
		},
		"openapi": {
			[]string{"--base", base, "--all", write("o.yaml", "openapi: 3.0.0\npaths:\n  /items/{id}:\n    put:\n      parameters: [{name: id, in: path, schema: {example: 7}}]\n      requestBody: {content: {application/json: {schema: {properties: {a: {type: integer}}}}}}\n")},
			[]string{"PUT /items/7 " + host + ` [] {"a":1}`},
		},
		"vegeta": {[]string{write("t.txt", "POST "+base+"/v\nX-Run: 1\n@body.json\n")}, []string{"POST /v " + host + ` ["1"] {"item":7}`}},
	} {
		t.Run(format, func(t *testing.T) {
			got = nil
			out := filepath.Join(t.TempDir(), "scenario.yaml")
			args := append([]string{"import", strings.Fields(format)[0], "--out", out}, c.args...)
			if code, said := stderrOf(t, args...); code != 0 {
				t.Fatalf("exit code %d: %s", code, said)
			}
			code, shown, said := loadOf(t, t.Context(), "--targets", out, "--try")
			if code != 0 {
				t.Fatalf("exit code %d: %s%s", code, shown, said)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the server has received\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

// A scenario is piped from one command to another.
func TestImportPipe(t *testing.T) {
	url, count := serve(t, hello)
	code, out, said := outputOf(t, t.Context(), "import", "curl", "--", url, "-H", "Authorization: Bearer x")
	if code != 0 || !strings.Contains(said, "note: the file contains credentials in Authorization") {
		t.Fatalf("exit code %d, %s", code, said)
	}
	in, err := os.Open(textFile(t, "s.yaml", out))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	stdin := os.Stdin
	os.Stdin = in
	defer func() { os.Stdin = stdin }()
	if code, shown, said := loadOf(t, t.Context(), counted(60, "--targets", "-", "--json", "-")...); code != 0 || documentOf(t, shown).Requests == 0 || count.Load() == 0 {
		t.Errorf("exit code %d after %d requests, %s", code, count.Load(), said)
	}
}

func TestImportUsage(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept.yaml")
	if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"postman", "x"}, 2, `unknown format "postman"; the formats are curl, har, openapi and vegeta`},
		{[]string{"crul", "x"}, 2, `unknown format "crul"; did you mean curl? See redline import --help`},
		{[]string{"HRA"}, 2, `unknown format "HRA"; did you mean har? See redline import --help`},
		{[]string{"har", "a", "b"}, 2, "name one file, such as redline import har FILE; there are 2 arguments"},
		{[]string{"curl", "--"}, 2, "write a file, or a command after --"},
		{[]string{"har", "--credentials", "hide", kept}, 2, "--credentials hide: write keep, variables or drop"},
		{[]string{"har", "--out", "x.json", kept}, 2, "--out x.json: the scenario is YAML; name the file x.yaml"},
		{[]string{"openapi", "--base", "localhost", kept}, 2, "--base localhost: write http://host:port"},
		{[]string{"har", "--nonsense"}, 2, "unknown flag: --nonsense; see redline import har --help"},
		{[]string{"har", filepath.Join(dir, "absent")}, 1, "absent: there is no such file; - is standard input"},
		{[]string{"har", dir}, 1, "read the source: "},
		{[]string{"har", "--out", kept, kept}, 2, "this is the file that is read, and it would be replaced"},
		{[]string{"vegeta", "--out", kept, textFile(t, "t.txt", "GET http://h/\nx\n")}, 1, `t.txt:2: "x" is neither a header field nor a target`},
		{[]string{"curl", "--out", filepath.Join(dir, "no", "x.yaml"), textFile(t, "c", "curl http://h/")}, 2, "there is no directory"},
	} {
		if code, said := stderrOf(t, append([]string{"import"}, c.args...)...); code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%q: exit code %d, %q; want %d, %q", c.args, code, said, c.code, c.want)
		}
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != "kept" {
		t.Errorf("after errors the file is %q, %v", text, err)
	}
	if code, out, said := outputOf(t, t.Context(), "import"); code != 0 || !strings.Contains(out, "redline import har") {
		t.Errorf("exit code %d, %s%s", code, out, said)
	}
}

// The recording of the shop that the documents import is a scenario that the shop answers right: without
// what the browser's cache has answered, with the error that was recorded, and without credentials.
func TestImportRecording(t *testing.T) {
	once(t)
	server := openShop(t)
	text, err := os.ReadFile(filepath.Join(checkout, "examples/shop/browser.har"))
	if err != nil {
		t.Fatal(err)
	}
	har := textFile(t, "browser.har", server.place(string(text)))
	out := filepath.Join(t.TempDir(), "browser.yaml")
	if code, said := stderrOf(t, "import", "har", har, "--out", out); code != 0 || strings.Contains(said, "credentials") || !strings.Contains(said, "cache") {
		t.Fatalf("exit code %d: %s", code, said)
	}
	code, shown, said := loadOf(t, t.Context(), "--targets", out, "--try")
	if code != 0 || !strings.Contains(shown, "right: 6 of 6") || !strings.Contains(shown, "< 404 Not Found") {
		t.Errorf("exit code %d: %s%s", code, shown, said)
	}
	scenario, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"think: 2.4", "- status: 404", `body: '{"item":2,"amount":1}'`} {
		if !strings.Contains(string(scenario), want) {
			t.Errorf("the scenario lacks %q:\n%s", want, scenario)
		}
	}
}
