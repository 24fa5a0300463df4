package conformance

import (
	"bytes"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// mcpProgram is the conformance suite of the Model Context Protocol, which is a client.
const mcpProgram = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

// mcpExpected are the scenarios that fail with net/http as well, with the reason.
var mcpExpected = map[string]string{}

// mcpScenarios is the number of scenarios of the suite.
const mcpScenarios = 32

// TestMCP runs the suite against a server that is written with the official SDK, over TLS, with
// HTTP/2 and with HTTP/1.1. Clients hold a stream of events open while they call the server.
func TestMCP(t *testing.T) {
	if !*full {
		t.Skip("the short form does without npm: make mcp runs the suite")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("need node: run make mcp, which installs it: %v", err)
	}
	for _, v := range variants(false) {
		if !v.secure {
			continue // it speaks HTTP/2 alone, which fetch does not in clear
		}
		for _, version := range []string{"2", "1"} {
			t.Run(v.String()+"-h"+version, func(t *testing.T) { mcpSuite(t, v, node, version) })
		}
	}
}

// mcpSuite runs the suite once.
func mcpSuite(t *testing.T, v variant, node, version string) {
	var mu sync.Mutex
	protocols, h := map[string]int{}, newMCP()
	addr := start(t, v, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		protocols[r.Proto]++
		mu.Unlock()
		h.ServeHTTP(w, r)
	}), nil)
	dispatcher, err := filepath.Abs("clients/dispatcher.mjs")
	if err != nil {
		t.Fatal(err)
	}
	tr := &trial{T: t}
	cmd := tr.command(node, "--import", dispatcher, mcpProgram, "server", "--url", "https://"+addr.String()+"/mcp", "--suite", "all")
	cmd.Dir = "clients"
	cmd.Env = append(cmd.Env, "NODE_EXTRA_CA_CERTS="+authorityFile(t), "HTTP_VERSION="+version)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	failed := map[string]bool{}
	ran := 0
	for _, m := range mcpResult.FindAllStringSubmatch(out.String(), -1) {
		if ran++; m[1] != "✓" {
			failed[m[2]] = true
		}
	}
	if err != nil && len(failed) == 0 || ran != mcpScenarios {
		t.Errorf("%d scenarios, want %d: %v", ran, mcpScenarios, err)
	}
	for name := range failed {
		if mcpExpected[name] == "" {
			t.Errorf("%s fails", name)
		}
	}
	for name, why := range mcpExpected {
		if !failed[name] {
			t.Errorf("%s passes, but is listed: %s", name, why)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if want := map[string]string{"1": "HTTP/1.1", "2": "HTTP/2.0"}[version]; len(protocols) != 1 || protocols[want] == 0 {
		t.Errorf("requests by protocol: %v, want %s alone", protocols, want)
	}
	if t.Logf("requests by protocol: %v", protocols); t.Failed() {
		t.Log(strings.TrimSpace(out.String()))
	}
}

// mcpResult is a line of the suite's summary.
var mcpResult = regexp.MustCompile(`(?m)^([✓✗]) ([a-z0-9-]+): \d+ passed, \d+ failed`)
