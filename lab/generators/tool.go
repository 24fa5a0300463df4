package generators

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
	Pipelined = "pipelined" // closed loop, several
	HTTP2     = "http2"     // closed loop over TLS, several streams on each connection
	Stalled   = "stalled"   // a constant rate against a server that stalls
)

// A Load is what is asked of a generator.
type Load struct {
	Workload    string
	URL         string
	Connections int
	Depth       int           // requests in flight on each connection
	Rate        int           // requests a second of all connections; 0: a closed loop
	Duration    time.Duration // whole seconds: not every tool takes less
	Dir         string        // for files of the run; empty, and removed afterwards
}

// perConnection is the rate of one connection, requests a second.
func (l *Load) perConnection() float64 { return float64(l.Rate) / float64(l.Connections) }

// A Tool is a load generator.
type Tool struct {
	Name    string
	Version string   // once it was found
	Missing string   // why it is left out, and how to install it; empty when it is there
	base    string   // the workload in which others are compared with it, if there is one
	note    string   // what a reader of its truth has to know
	program string   // to look for
	version []string // arguments that print it; none: it is read from the Go executable
	install string
	variant bool // of a tool that makes the loads that this one does not
	can     func(workload string) bool
	// command is the arguments for a load that it can make.
	command func(l *Load) ([]string, error)
	// report is, where it is set, a command to run afterwards whose output is parsed.
	report func(l *Load) []string
	parse  func(l *Load, out []byte) (Report, error)
}

// A Report is what a tool says of its run.
type Report struct {
	Requests uint64  `json:"requests"` // answered
	Errors   uint64  `json:"errors"`
	Rate     float64 `json:"rate"` // requests a second
	// Milliseconds; absent where the tool does not tell.
	P50 *float64 `json:"p50_ms,omitempty"`
	P99 *float64 `json:"p99_ms,omitempty"`
	Max *float64 `json:"max_ms,omitempty"`
}

var versionNumber = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)

// find looks for the program and asks for its version.
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
			t.Missing = fmt.Sprintf("%s: %s is no Go executable of that project (%v); %s", t.Name, path, err, t.install)
			return
		}
		t.Version = info.Main.Version
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, t.version...).CombinedOutput() // wrk ends with 1 after it told
	v := versionNumber.Find(out)
	if v == nil {
		t.Missing = fmt.Sprintf("%s: %s does not tell its version (%v); %s", t.Name, path, err, t.install)
		return
	}
	t.Version = string(v)
}

// Names are the tools' names, in the order of the tables.
func Names() []string {
	var names []string
	for _, t := range catalogue("") {
		names = append(names, t.Name)
	}
	return names
}
