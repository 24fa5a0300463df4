package conformance

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A client is a program, or a library, that uses the server in one way.
type client struct {
	name   string
	needs  string   // the program that it is, or that runs it
	always bool     // part of the short form
	clear  bool     // over HTTP/2 in clear, not over TLS
	script []string // what needs runs, or nil
	run    func(*trial)
	cases  string // those of a script, each of which it has to report
}

const (
	simple     = "get post many stream ca"
	everything = simple + " duplex trailers"
)

// clients are the clients of the suite. What a client cannot do is not among its cases.
var clients = []client{
	{name: "go-h2", always: true, run: func(t *trial) { t.goClient(2) }},
	{name: "go-h1", always: true, run: func(t *trial) { t.goClient(1) }},
	{name: "curl-h2", needs: "curl", always: true, run: func(t *trial) { t.curl("HTTP/2.0", "--http2") }},
	{name: "curl-h1", needs: "curl", always: true, run: func(t *trial) { t.curl("HTTP/1.1", "--http1.1") }},
	{name: "curl-h2c", needs: "curl", always: true, clear: true, run: func(t *trial) { t.curl("HTTP/2.0", "--http2-prior-knowledge") }},
	{name: "nghttp", needs: "nghttp", run: (*trial).nghttp},
	{name: "h2load-h2", needs: "h2load", run: func(t *trial) { t.h2load() }},
	{name: "h2load-h1", needs: "h2load", run: func(t *trial) { t.h2load("--h1") }},
	{name: "node-http2", needs: "node", script: []string{"node.mjs"}, cases: everything},
	{name: "undici-h2", needs: "node", script: []string{"undici.mjs", "2"}, cases: simple},
	{name: "undici-h1", needs: "node", script: []string{"undici.mjs", "1"}, cases: simple},
	{name: "httpx-h2", needs: "../.bin/clients/bin/python", script: []string{"httpx_client.py", "2"}, cases: simple},
	{name: "httpx-h1", needs: "../.bin/clients/bin/python", script: []string{"httpx_client.py", "1"}, cases: simple},
	{name: "java-h2", needs: "java", script: []string{"Client.java", "2"}, cases: simple},
	{name: "java-h1", needs: "java", script: []string{"Client.java", "1"}, cases: simple},
	{name: "chromium", needs: "node", script: []string{"browser.mjs"}, cases: "get post page upload stream events websocket ca"},
	{name: "sslyze", needs: "../.bin/clients/bin/python", script: []string{"scan.py"}, cases: "protocols suites keys flaws ca"},
}

// A trial is one client against one server.
type trial struct {
	*testing.T
	s    *scenario
	base string // the URL of the server, without a path
	id   string // of its streams
	ca   string // the file of the authority that the client shall trust
}

// TestClients has each client do what it can of the scenario.
func TestClients(t *testing.T) {
	onEach(t, false, func(t *testing.T, v variant) {
		s := newScenario()
		addr := start(t, v, s, nil)
		for _, c := range clients {
			if c.clear == v.secure || !c.always && !*full {
				continue
			}
			t.Run(c.name, func(t *testing.T) { c.test(t, s, addr) })
		}
	})
}

// test runs the client.
func (c *client) test(t *testing.T, s *scenario, addr net.Addr) {
	if c.needs != "" {
		if _, err := exec.LookPath(c.needs); err != nil && *full {
			t.Fatalf("need %s: run make clients, which installs it: %v", c.needs, err)
		} else if err != nil {
			t.Skipf("need %s: run make clients, which installs it: %v", c.needs, err)
		}
	}
	tr := &trial{T: t, s: s, base: "https://" + addr.String(), id: strings.ReplaceAll(t.Name(), "/", "-"), ca: authorityFile(t)}
	if c.clear {
		tr.base = "http://" + addr.String()
	}
	if c.run != nil {
		c.run(tr)
		return
	}
	tr.script(c)
}

// script runs a script. It prints a line for each case: "ok CASE", or "not ok CASE: WHY", and
// comments, which begin with "#".
func (t *trial) script(c *client) {
	program, err := filepath.Abs(c.needs)
	if !strings.Contains(c.needs, "/") {
		program, err = exec.LookPath(c.needs)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := t.command(program, append(slices.Clone(c.script), t.base, t.id, t.ca)...)
	cmd.Dir = "clients"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v\n%s", c.name, err, stderr.Bytes())
	}
	passed := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "ok "); ok {
			passed[name] = true
		}
		t.Log(line)
	}
	for _, name := range strings.Fields(c.cases) {
		t.Run(name, func(t *testing.T) {
			if !passed[name] {
				t.Error("the client does not report that it passes")
			}
		})
	}
}

// command is a command that ends with the test, and after some time at the latest.
func (t *trial) command(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	// Java and browsers keep what they cache in the home directory.
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "NODE_NO_WARNINGS=1")
	cmd.WaitDelay = patience
	return cmd
}

// output runs a program to its end and returns what it printed.
func (t *trial) output(name string, args ...string) string {
	t.Helper()
	out, err := t.command(name, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%.2000s", name, err, out)
	}
	return string(out)
}

// follow runs a program and hands each line of its output to f while it runs, counted from 1.
func (t *trial) follow(cmd *exec.Cmd, f func(n int, line string)) {
	t.Helper()
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for lines := bufio.NewScanner(output); lines.Scan(); {
		n++
		f(n, lines.Text())
	}
	if err := cmd.Wait(); err != nil || n != numParts {
		t.Errorf("%d lines instead of %d, %v", n, numParts, err)
	}
}
