package rivals

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// catalogue returns all known tools; redline is the executable of this command.
func catalogue(redline string) []*Tool {
	return []*Tool{
		{Name: "redline", program: redline, can: anything, command: redlineCommand, parse: parseRedline},
		{
			Name: "wrk", base: Plain, note: "closed loop, corrected", can: overHTTP1, program: "wrk", version: []string{"-v"}, install: debian("wrk"),
			command: wrkCommand, parse: parseWrk,
		},
		{
			Name: "h2load", base: HTTP2, can: anything, program: "h2load", version: []string{"--version"}, install: debian("nghttp2-client"),
			command: h2loadCommand, parse: parseH2load,
		},
		oha("oha", func(workload string) bool { return workload != Pipelined }),
		oha("oha-corrected", func(workload string) bool { return workload == Stalled }, "--latency-correction"),
		{
			Name: "bombardier", can: oneInFlight, program: "bombardier", install: goTool("github.com/codesenberg/bombardier"),
			command: bombardierCommand, parse: parseBombardier,
		},
		{
			Name: "vegeta", note: "any number of connections", can: oneInFlight, program: "vegeta", install: goTool("github.com/tsenart/vegeta/v12"),
			command: vegetaCommand, report: vegetaReport, parse: parseVegeta,
		},
		{
			Name: "hey", can: oneInFlight, program: "hey", install: goTool("github.com/rakyll/hey"),
			command: heyCommand, parse: parseHey,
		},
	}
}

func anything(string) bool             { return true }
func overHTTP1(workload string) bool   { return workload != HTTP2 }
func oneInFlight(workload string) bool { return workload == Plain || workload == Stalled }

func debian(pkg string) string  { return "on Debian: apt-get install " + pkg }
func goTool(path string) string { return "go install " + path + "@latest" }

// timeout is the limit on a response, for tools whose default is 2 s: they would leave out
// slower responses, which are what the comparison is about. The other tools have 20 s or
// more, or no limit.
const timeout = "30s"

func seconds(l *Load) string { return strconv.Itoa(int(l.Duration.Seconds())) }

func redlineCommand(l *Load) ([]string, error) {
	args := []string{
		"load", "--quiet", "--json", "-", "--allow-invalid", "--warmup", "0s",
		"-c", strconv.Itoa(l.Connections), "-d", l.Duration.String(),
	}
	switch l.Workload {
	case Stalled:
		args = append(args, "-r", strconv.Itoa(l.Rate))
	case Pipelined:
		args = append(args, "--pipeline", strconv.Itoa(l.Depth))
	case HTTP2:
		args = append(args, "--http2", "--tls-insecure", "--streams", strconv.Itoa(l.Depth))
	}
	return append(args, l.URL), nil
}

// wrkScript makes wrk report as JSON. A request function costs a call of Lua for each
// request, so it is used only where one call makes several.
const (
	wrkScript = `done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('\n{"requests":%d,"errors":%d,"us":%d,"p50":%f,"p99":%f,"max":%f}\n', summary.requests,
    e.connect + e.read + e.write + e.status + e.timeout, summary.duration,
    latency:percentile(50), latency:percentile(99), latency.max))
end
`
	wrkPipeline = `init = function(args)
  local all = {}
  for i = 1, %d do all[i] = wrk.format() end
  batch = table.concat(all)
end
request = function() return batch end
`
)

// wrkCommand has no constant rate: against the server that stalls it remains a closed loop.
// wrk adds the samples that it considers omitted, one for each mean time between the
// requests of a connection.
func wrkCommand(l *Load) ([]string, error) {
	script := wrkScript
	if l.Depth > 1 {
		script += fmt.Sprintf(wrkPipeline, l.Depth)
	}
	file := filepath.Join(l.Dir, "report.lua")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		return nil, fmt.Errorf("write the script of wrk: %w", err)
	}
	return []string{"-t1", "-c" + strconv.Itoa(l.Connections), "-d" + seconds(l) + "s", "--timeout", timeout, "-s", file, l.URL}, nil
}

func h2loadCommand(l *Load) ([]string, error) {
	args := []string{"-t1", "-c" + strconv.Itoa(l.Connections), "-m" + strconv.Itoa(l.Depth), "-D" + seconds(l)}
	if l.Workload != HTTP2 {
		args = append(args, "--h1")
	}
	if l.Rate > 0 { // its quantiles are not in its summary
		args = append(args, "--rps="+strconv.FormatFloat(l.perConnection(), 'f', -1, 64), "--log-file="+h2loadLog(l))
	}
	return append(args, l.URL), nil
}

func h2loadLog(l *Load) string { return filepath.Join(l.Dir, "requests.tsv") }

// oha returns the tool, with more arguments or none.
func oha(name string, can func(string) bool, more ...string) *Tool {
	return &Tool{
		Name: name, variant: len(more) > 0, can: can, program: "oha", version: []string{"--version"}, install: "cargo install oha",
		command: func(l *Load) ([]string, error) {
			args := []string{"--no-tui", "--output-format", "json", "-c", strconv.Itoa(l.Connections), "-z", seconds(l) + "s"}
			if l.Workload == HTTP2 {
				args = append(args, "--http2", "--insecure", "-p", strconv.Itoa(l.Depth))
			}
			if l.Rate > 0 {
				args = append(args, "-q", strconv.Itoa(l.Rate))
			}
			return append(append(args, more...), l.URL), nil
		},
		parse: parseOha,
	}
}

func bombardierCommand(l *Load) ([]string, error) {
	args := []string{"-c", strconv.Itoa(l.Connections), "-d", seconds(l) + "s", "-t", timeout, "-l", "-p", "r", "-o", "json"}
	if l.Rate > 0 {
		args = append(args, "-r", strconv.Itoa(l.Rate))
	}
	return append(args, l.URL), nil
}

// vegetaCommand limits the workers only in a closed loop: in an open loop vegeta opens as
// many connections as it needs.
func vegetaCommand(l *Load) ([]string, error) {
	targets := filepath.Join(l.Dir, "targets")
	if err := os.WriteFile(targets, []byte("GET "+l.URL+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write the targets of vegeta: %w", err)
	}
	args := []string{"attack", "-targets", targets, "-duration", l.Duration.String(), "-output", vegetaLog(l), "-rate", strconv.Itoa(l.Rate)}
	if l.Rate == 0 {
		args = append(args, "-max-workers", strconv.Itoa(l.Connections))
	}
	return args, nil
}

func vegetaLog(l *Load) string { return filepath.Join(l.Dir, "results.gob") }

func vegetaReport(l *Load) []string { return []string{"report", "-type", "json", vegetaLog(l)} }

func heyCommand(l *Load) ([]string, error) {
	args := []string{"-c", strconv.Itoa(l.Connections), "-z", seconds(l) + "s", "-cpus", "1"}
	if l.Rate > 0 {
		args = append(args, "-q", strconv.FormatFloat(l.perConnection(), 'f', -1, 64))
	}
	return append(args, l.URL), nil
}
