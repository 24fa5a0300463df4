package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/load/command"
)

// textFile writes a file for a test, and returns its path.
func textFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadUsersUsage(t *testing.T) {
	const url = "http://127.0.0.1:1/"
	file := textFile(t, "s.yaml", "targets: [{url: /}]\n")
	flow := textFile(t, "f.yaml", "flows: [{name: f, steps: [{url: /}]}]\n")
	tagged := textFile(t, "t.yaml", "targets: [{url: /, tags: {kind: read}}]\n")
	two := textFile(t, "two.yaml", "targets: [{url: 'http://a/'}, {url: 'http://b/'}]\n")
	whole := textFile(t, "whole.txt", "GET http://h/\n")
	wrong := textFile(t, "wrong.yaml", "base: http://h\ntargets:\n  - url: /${id}\n    wieght: 3\n")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--targets", file}, "there is no base to put it under; write base: http://host:port at the top, give the URL on the command line"},
		{[]string{"--targets", file + "x", url}, "s.yamlx: there is no such file"},
		{[]string{"--targets", wrong}, `wrong.yaml:3: ${id} is not defined here; declare it under variables:`},
		{[]string{"--targets", wrong}, `wrong.yaml:4: `},
		{[]string{"--targets", two}, "requests to a:80 and b:80: write a file for each server"},
		{[]string{"--targets", whole, url}, "all of its URLs are absolute, at http://h:80; leave http://127.0.0.1:1/ out"},
		{[]string{"--targets", flow, "--threshold", "p99{pay}<1s", url}, "--threshold p99{pay}<1s: "},
		{[]string{"--targets", flow, "--threshold", "p99{pay}<1s", url}, "f.yaml has no target \"pay\"; it has f/GET /"},
		{[]string{"--threshold", "p99{pay}<1s", url}, "only a scenario has targets; leave \"pay\" out"},
		{[]string{"--targets", flow, "--threshold", "F/GET: p99<1s", url}, "f.yaml has no target \"F/GET\"; it has f/GET /"},
		{[]string{"--targets", flow, "--threshold", "f/GET /.p99<1s", url}, "for a target f/GET / write f/GET /: p99"},
		{[]string{"--percentiles", "", url}, "--percentiles: \"\" is no percentile: write numbers above 0, up to 99.9999"},
		{[]string{"--percentiles", "50,100", url}, "\"100\" is no percentile"},
		{[]string{"--percentiles", "99", "--try", "--targets", flow, url}, "--percentiles with --try"},
		{[]string{"--targets", flow, "--find", "p99{f/GET /}<1s", url}, "a search judges all requests together; leave \"f/GET /\" out"},
		{[]string{"--targets", tagged, "--threshold", "p99{kind=write}<1s", url}, "t.yaml has no target and no tag \"kind=write\"; its tags are kind=read"},
		{[]string{"--targets", file, "--threshold", "iteration.p50<1s", url}, "name a file with flows: by --targets"},
		{[]string{"--threshold", "iteration.p50<1s", url}, "name a file with flows: by --targets"},
		{[]string{"--find", "iteration.p50<1s", url}, "name a file with flows: by --targets"},
		{[]string{"--targets", flow, "--threshold", "iteration.p50{g}<1s", url}, "f.yaml has no flow {g}; it has f"},
		{[]string{"--targets", flow, "--pipeline", "2", url}, "wait for each answer; leave --pipeline out"},
		{[]string{"--targets", file, "-X", "PUT", url}, "--method with --targets: the file describes"},
		{[]string{"--targets", file, "--body", "x", url}, "--body with --targets"},
		{[]string{"--targets", file, "--status", "404", url}, "--status with --targets"},
		{[]string{"--targets", file, "-H", "x", url}, "write 'NAME: VALUE'"},
		{[]string{"--targets", file, url + "?a=b"}, "is the base of the file's paths"},
		{[]string{"--targets", file, "ftp://h/"}, "is not a URL to load"},
		{[]string{"--try", "-r", "5", url}, "--rate with --try: --try measures nothing"},
		{[]string{"--think", "long", url}, `--think: distribution "long"`},
		{[]string{"--think", "200ms", "-r", "500", url}, "64 users send at most 320/s, but 500/s are requested; write --connections 111 or more"},
		{[]string{"--check", "status ok", url}, `--check "status ok": "ok" is no status; write 'status 200'`},
		{[]string{"--check", "status 200", "--status", "200", url}, "one of the two"},
		{[]string{"--upload", "big", url}, "--upload big: write bytes as 4096, 64KiB or 100MB"},
		{[]string{"--upload", "1MB", "--body", "x", url}, "--upload and --body or --body-file: leave out one of them"},
		{[]string{"--chunked", url}, "--chunked without a body"},
		{[]string{"--requests-per-connection", "-1", url}, "--requests-per-connection -1: want at least 1"},
		{[]string{"--connect-rate", "0", url}, "--connect-rate 0: write a number a second"},
		{[]string{"--connect-rate", "few", url}, "--connect-rate few:"},
		{[]string{"--sources", "127.0.0.x", url}, "write 127.0.0.2, 127.0.0.2-127.0.0.9 or 127.0.1.0/24"},
		{[]string{"--slow-read", "0", url}, "--slow-read 0: write bytes"},
		{[]string{"--slow-write", "x", url}, "--slow-write x: write bytes"},
		{[]string{"--slow-connections", "2", url}, "add --slow-read or --slow-write"},
		{[]string{"--slow-connections", "65", "--slow-read", "1KiB", url}, "--slow-connections 65: want 1 to 64"},
		{[]string{"--max-body", "0", url}, "--max-body 0: write bytes"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			code, _, said := loadOf(t, t.Context(), c.args...)
			if code != 2 || !strings.Contains(said, c.want) {
				t.Errorf("exit code %d, %q; want 2, %q", code, said, c.want)
			}
		})
	}
}

// The help shows each flag once, in lines of at most 101 columns.
func TestLoadHelp(t *testing.T) {
	code, out, said := loadOf(t, t.Context(), "--help")
	if code != 0 || said != "" {
		t.Errorf("exit code %d, %s", code, said)
	}
	for l := range strings.Lines(out) {
		if n := len([]rune(l)); n > 101 && !strings.HasPrefix(l, "  redline ") {
			t.Errorf("a line of %d columns: %s", n, l)
		}
	}
	newLoad().Flags().VisitAll(func(f *pflag.Flag) {
		line := regexp.MustCompile(`(?m)^(  -[a-zA-Z], |      )--` + f.Name + `( |$)`)
		if n := len(line.FindAllString(out, -1)); n != 1 {
			t.Errorf("--%s appears %d times", f.Name, n)
		}
	})
	if at := strings.Index(out, "\nUsers:\n      --targets "); at < 0 || !strings.Contains(out[at:], "\nConnections:\n") {
		t.Errorf("no groups in\n%s", out)
	}
}

// shop is a scenario that has every kind of element.
const shop = `
variables:
  account: {counter: 1, per: user}
defaults:
  headers: {Authorization: "Bearer ${token}"}
setup:
  - {name: login, method: POST, url: /login, body: "${account}", captures: {token: {json: $.token}}}
flows:
  - name: buy
    weight: 2
    steps:
      - {name: cart, method: POST, url: /carts, captures: {cart: {header: X-Cart}}}
      - {name: pay, method: POST, url: "/carts/${cart}", checks: [{name: paid, body: {equals: paid}}]}
targets:
  - {name: home, url: /, headers: {Authorization: ~}, weight: 3}
`

// keeper is the handler for shop: it counts the requests by kind, and refuses one
// payment in three.
func keeper(seen *sync.Map, carts *atomic.Int64) func(http.ResponseWriter, *http.Request, int64) {
	return func(w http.ResponseWriter, r *http.Request, _ int64) {
		count := func(name string) int64 {
			n, _ := seen.LoadOrStore(name, new(atomic.Int64))
			return n.(*atomic.Int64).Add(1)
		}
		if r.Header.Get("X-Run") != "7" {
			count("without X-Run")
		}
		if r.URL.Path != "/shop/login" && r.URL.Path != "/shop/" && r.Header.Get("Authorization") != "Bearer t" {
			count("without token")
		}
		switch path := strings.TrimPrefix(r.URL.Path, "/shop"); {
		case path == "/login":
			account, _ := io.ReadAll(r.Body)
			if count("account "+string(account)) > 1 {
				count("second login")
			}
			_, _ = io.WriteString(w, `{"token": "t"}`)
		case path == "/carts":
			w.Header().Set("X-Cart", fmt.Sprint(carts.Add(1)))
		case strings.HasPrefix(path, "/carts/"):
			if count("pay")%3 == 0 {
				_, _ = io.WriteString(w, "owed")
				return
			}
			_, _ = io.WriteString(w, "paid")
		case path == "/":
			count("home")
			_, _ = io.WriteString(w, "welcome")
		default:
			count("other " + path)
		}
	}
}

func TestLoadTargets(t *testing.T) {
	var seen sync.Map
	var carts atomic.Int64
	url, _ := serve(t, keeper(&seen, &carts))
	base := strings.TrimSuffix(url, "/hello") + "/shop"
	file := textFile(t, "shop.yaml", shop)
	page := filepath.Join(t.TempDir(), "page.html")
	code, out, said := loadOf(t, t.Context(), counted(600, "--targets", file, "-H", "X-Run: 7", "--seed", "4",
		"--threshold", "rate{buy/pay}>1,errors{buy/pay}<1%", "--threshold", "errors<90%", "--json", "-", "--html", page, base)...)
	d := documentOf(t, out)
	if code != command.ExitBroken || !d.Thresholds[0].Kept || d.Thresholds[1].Kept || !d.Thresholds[2].Kept || !strings.Contains(said, "BROKEN      errors{buy/pay}<1%: it is ") {
		t.Errorf("exit code %d, thresholds %+v, %s", code, d.Thresholds, said)
	}
	if d.URL != base || d.Config.Scenario != file || d.Config.Seed != 4 || d.Requests == 0 {
		t.Errorf("%s, %+v", d.URL, d.Config)
	}
	seen.Range(func(key, _ any) bool {
		if name := key.(string); strings.HasPrefix(name, "without") || strings.HasPrefix(name, "second") || strings.HasPrefix(name, "other") {
			t.Errorf("the server saw a request: %s", name)
		}
		return true
	})
	var right, refused uint64
	var names []string
	for _, target := range d.Targets {
		names = append(names, target.Name)
		if !target.Setup {
			right += target.Requests
		}
		if target.Requests == 0 || target.Latency.Count < target.Requests { // answers after the window are latencies, too
			t.Errorf("target %+v", target)
		}
		if target.Name == "buy/pay" {
			refused = target.Checks["paid"]
		}
	}
	if strings.Join(names, " ") != "setup/login home buy/cart buy/pay" || right != d.Requests || refused == 0 || refused != d.Errors["check"] {
		t.Errorf("targets %v with %d right answers of %d, %d refused of %v", names, right, d.Requests, refused, d.Errors)
	}
	if !strings.Contains(said, "shop.yaml at "+base) || !strings.Contains(said, "buy/pay  ") || !strings.Contains(said, fmt.Sprintf("failed    %d paid", refused)) {
		t.Errorf("summary %s", said)
	}
}

// A list of targets may be read from a pipe.
func TestLoadTargetsFromStandardInput(t *testing.T) {
	url, count := serve(t, hello)
	file, err := os.Open(textFile(t, "x", "GET "+url+"\nX-A: b\n\nHEAD /other\n"))
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stdin
	os.Stdin = file
	defer func() { os.Stdin = old }()
	base := strings.TrimSuffix(url, "/hello")
	code, out, said := loadOf(t, t.Context(), counted(60, "--targets", "-", "--json", "-", base)...)
	d := documentOf(t, out)
	if code != 0 || count.Load() == 0 || len(d.Targets) != 2 || d.Targets[0].Name != "GET "+url || d.Targets[1].Requests == 0 || !strings.Contains(said, "standard input at "+base) {
		t.Errorf("exit code %d, %+v, %s", code, d.Targets, said)
	}
}

// A wrong path of a scenario is reported before the run, like that of a URL.
func TestLoadTargetsWrongPath(t *testing.T) {
	url, count := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
		}
	})
	base := strings.TrimSuffix(url, "/hello")
	file := textFile(t, "s.yaml", "targets: [{url: /}, {name: order, method: POST, url: /orders}, {name: item, url: /itmes}]")
	code, _, said := loadOf(t, t.Context(), short("--targets", file, base)...)
	if code != 1 || !strings.Contains(said, "/itmes answers with status 404, and its check fails: status 2xx, 3xx") || count.Load() != 2 {
		t.Errorf("exit code %d after %d requests, %s", code, count.Load(), said)
	}
	code, out, said := loadOf(t, t.Context(), counted(60, "--targets", file, "--keep-going", "--json", "-", base)...)
	if d := documentOf(t, out); code != 0 || d.Requests == 0 || d.Errors["check"] == 0 {
		t.Errorf("exit code %d, %d right, errors %v, %s", code, d.Requests, d.Errors, said)
	}
}

func TestLoadChecks(t *testing.T) {
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request, n int64) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"ok": %v}`, n%2 == 1)
	})
	check := []string{"--check", "json $.ok equals true", "--check", "header Content-Type contains json"}
	code, out, said := loadOf(t, t.Context(), counted(60, append(check, "--json", "-", url)...)...)
	d := documentOf(t, out)
	wrong := d.Errors["check"]
	if code != 0 || wrong == 0 || d.Requests == 0 || len(d.Targets) != 1 || d.Targets[0].Checks["json $.ok equals true"] != wrong || d.Config.Status != 201 {
		t.Errorf("exit code %d, %v, %+v", code, d.Errors, d.Targets)
	}
	if !strings.Contains(said, fmt.Sprintf("failed    %d json $.ok equals true", wrong)) {
		t.Errorf("summary %s", said)
	}
	code, _, said = loadOf(t, t.Context(), short("--check", "body contains nothing", url)...)
	if code != 1 || !strings.Contains(said, `answers with status 201, and --check "body contains nothing" fails`) {
		t.Errorf("exit code %d, %s", code, said)
	}
	code, _, said = loadOf(t, t.Context(), short("--check", "status 200", url)...)
	if code != 1 || !strings.Contains(said, `--check "status 200" fails`) {
		t.Errorf("exit code %d, %s", code, said)
	}
}

func TestLoadUploads(t *testing.T) {
	once(t)
	const size = 300_000
	file := textFile(t, "body", strings.Repeat("x", size))
	for _, args := range [][]string{
		{"--upload", "300KB"},
		{"--upload", "300KB", "--chunked", "-X", "PUT"},
		{"--body-file", file},
		{"--body-file", file, "--chunked"},
		{"--body", strings.Repeat("y", 1000), "--chunked"},
	} {
		t.Run(args[0]+args[len(args)-1][:1], func(t *testing.T) {
			want := int64(size)
			if args[0] == "--body" {
				want = 1000
			}
			var wrong atomic.Int64
			url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, _ int64) {
				n, err := io.Copy(io.Discard, r.Body)
				announced := int64(-1)
				if args[len(args)-1] != "--chunked" && args[len(args)-2] != "-X" {
					announced = want
				}
				if err == nil && (n != want || r.ContentLength != announced || r.Method == "GET" || r.UserAgent() != "redline") {
					wrong.Add(1)
				}
			})
			code, out, said := loadOf(t, t.Context(), counted(30, append(args, "--json", "-", url)...)...)
			d := documentOf(t, out)
			if code != 0 || wrong.Load() > 0 || d.Requests == 0 || len(d.Errors) > 0 || int64(d.Config.Body) < want || d.BytesOut < d.Requests*uint64(want) {
				t.Errorf("exit code %d, %d wrong, %d requests, errors %v, %d bytes out, %+v, %s", code, wrong.Load(), d.Requests, d.Errors, d.BytesOut, d.Config, said)
			}
		})
	}
}

func TestLoadConnections(t *testing.T) {
	var from sync.Map
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		from.Store(strings.Split(r.RemoteAddr, ":")[0], true)
		hello(w, r, n)
	})
	code, out, said := loadOf(t, t.Context(), counted(24, "--requests-per-connection", "2", "--connect-rate", "6000/m", "--sources", "127.0.0.2-127.0.0.3", "--json", "-", url)...)
	d := documentOf(t, out)
	if c := d.Config; code != 0 || c.PerConnection != 2 || c.ConnectRate != 100 || len(c.Sources) != 1 {
		t.Errorf("exit code %d, %+v", code, c)
	}
	if d.Connects.Made < 4 || d.Connects.Time == nil || d.Connects.Time.Count != d.Connects.Made || d.FirstByte == nil || d.FirstByte.Count == 0 {
		t.Errorf("connects %+v, first byte %+v", d.Connects, d.FirstByte)
	}
	for _, addr := range []string{"127.0.0.2", "127.0.0.3"} {
		if _, ok := from.Load(addr); !ok {
			t.Errorf("no connection from %s", addr)
		}
	}
	for _, want := range []string{"a fresh connection after 2 requests", "at most 100 connects/s", "from 127.0.0.2-127.0.0.3", "first byte ", "connect ", fmt.Sprintf("%d made in all", d.Connects.Made)} {
		if !strings.Contains(strings.Join(strings.Fields(said), " "), strings.TrimSpace(want)) {
			t.Errorf("%q is not in %s", want, said)
		}
	}
}

// 3 slow readers take 20 KB each, at 40 KB/s.
func TestLoadSlow(t *testing.T) {
	answer := strings.Repeat("z", 20_000)
	url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request, _ int64) { _, _ = io.WriteString(w, answer) })
	code, out, said := loadOf(t, t.Context(), "-c", "3", "-d", "1s", "--warmup", "0", "--allow-invalid", "--slow-read", "40KB/s", "--slow-connections", "3", "--json", "-", url)
	d := documentOf(t, out)
	if s := d.Config.Slow; code != 0 || s == nil || s.Read != 40_000 || s.Connections != 3 || float64(d.Requests) > 3*40_000*(d.Seconds+1)/20_000 {
		t.Errorf("exit code %d, slow %+v, %d answers", code, s, d.Requests)
	}
	if !strings.Contains(said, "3 of them taking 39.1 KiB/s") {
		t.Errorf("summary %s", said)
	}
}

func TestLoadThink(t *testing.T) {
	url, count := serve(t, hello)
	code, out, said := loadOf(t, t.Context(), short("--think", "constant:1h", "--seed", "1", "--json", "-", url)...)
	if d := documentOf(t, out); code != 0 || count.Load() > 4 || d.Config.Think != "constant:1h" || !strings.Contains(said, "thinking for constant:1h") {
		t.Errorf("exit code %d, %d requests, %+v, %s", code, count.Load(), d.Config, said)
	}
}

// An answer that exceeds --max-body counts as an error.
func TestLoadMaxBody(t *testing.T) {
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request, n int64) {
		if n == 1 {
			hello(w, r, n)
			return
		}
		w.Header().Set("Connection", "close")
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("x", 5000))
		_ = conn.Close()
	})
	code, out, said := loadOf(t, t.Context(), counted(30, "--max-body", "4KiB", "--keep-going", "--json", "-", url)...)
	if d := documentOf(t, out); code != 0 || d.Requests != 0 || d.Errors["endless"] == 0 {
		t.Errorf("exit code %d, %d requests, errors %v, %s", code, d.Requests, d.Errors, said)
	}
	if code, _, _ := loadOf(t, t.Context(), "-c", "1", "-n", "30", "--max-body", "1MiB", url); code != 0 && code != command.ExitInvalid {
		t.Errorf("with a longer limit the exit code is %d", code)
	}
}
