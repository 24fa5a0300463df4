package rivals

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// The workloads.
const (
	Plain     = "plain"     // closed loop, one request in flight on each connection
	Pipelined = "pipelined" // closed loop, several requests in flight on each connection
	HTTP2     = "http2"     // closed loop over TLS, several streams on each connection
	Stalled   = "stalled"   // a constant rate against a server that stalls
)

// A Load is the load that a generator is to make.
type Load struct {
	Workload    string
	URL         string
	Connections int
	Depth       int           // requests in flight on each connection
	Rate        int           // requests a second over all connections; 0: a closed loop
	Duration    time.Duration // whole seconds: not every tool accepts fractions
	Dir         string        // for files of the run; empty, and removed afterwards
}

// perConnection returns the rate of one connection, in requests a second.
func (l *Load) perConnection() float64 { return float64(l.Rate) / float64(l.Connections) }

// A Tool is a load generator.
type Tool struct {
	Name    string
	Version string   // set by find
	Missing string   // why it is left out, and how to install it; empty if it is installed
	base    string   // the workload in which others are compared with it, if there is one
	note    string   // remark on its accuracy
	program string   // executable to find
	version []string // arguments that print the version; empty: it is read from the Go executable
	install string
	variant bool // a variant of a tool for loads that the tool itself does not make
	can     func(workload string) bool
	// command returns the arguments for a load that it can make.
	command func(l *Load) ([]string, error)
	// report, if not nil, returns a command to run afterwards, whose output is parsed.
	report func(l *Load) []string
	parse  func(l *Load, out []byte) (Report, error)
}

// A Report is what a tool reports about its run.
type Report struct {
	Requests uint64  `json:"requests"` // answered
	Errors   uint64  `json:"errors"`
	Rate     float64 `json:"rate"` // requests a second
	// Milliseconds; nil if the tool does not report them.
	P50 *float64 `json:"p50_ms,omitempty"`
	P99 *float64 `json:"p99_ms,omitempty"`
	Max *float64 `json:"max_ms,omitempty"`
}

var versionNumber = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)

// find finds the executable and reads its version.
func (t *Tool) find(ctx context.Context) {
	path, err := exec.LookPath(t.program)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		t.Missing = fmt.Sprintf("%s is not installed; %s", t.Name, t.install)
		return
	}
	t.program = path
	if t.version == nil {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			t.Missing = fmt.Sprintf("%s: %s is not a Go executable of that project (%v); %s", t.Name, path, err, t.install)
			return
		}
		t.Version = info.Main.Version
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, t.version...).CombinedOutput() // wrk exits with 1 after printing its version
	v := versionNumber.Find(out)
	if v == nil {
		t.Missing = fmt.Sprintf("%s: %s does not print its version (%v); %s", t.Name, path, err, t.install)
		return
	}
	t.Version = string(v)
}

// Names returns the names of the tools, in the order of the tables.
func Names() []string {
	var names []string
	for _, t := range catalogue("") {
		names = append(names, t.Name)
	}
	return names
}
