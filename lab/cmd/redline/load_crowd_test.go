package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// limited runs redline in a process that may open the given number of files, and may
// not raise that limit.
func limited(t *testing.T, files int, args ...string) (code int, out, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, files), os.Args[0]}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the exit code reports the failure
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// TestLoadCrowd starts enough workers, and prints a note, when one process may not open
// a file for each connection.
func TestLoadCrowd(t *testing.T) {
	once(t)
	plain, _ := serve(t, hello)
	stream, _ := serve(t, streamOf("text/event-stream", func(id int) string { return fmt.Sprintf("id: %d\ndata: x\n\n", id) }))
	const files = 100 // 36 of them for connections
	for name, c := range map[string]struct {
		args    []string
		workers int // 0: one generator without a coordinator
	}{
		"one is enough": {[]string{"-c", "36", "-n", "200", plain}, 0},
		"requests":      {[]string{"-c", "37", "-n", "200", plain}, 2},
		"open loop":     {[]string{"-c", "80", "-n", "80", "-r", "200", plain}, 3},
		"subscribers":   {[]string{"-c", "80", "--sse", "-d", "300ms", "--warmup", "100ms", stream}, 3},
		"asked for":     {[]string{"-c", "80", "-n", "200", "--workers", "4", plain}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, said := limited(t, files, append([]string{"load", "--allow-invalid", "--json", "-"}, c.args...)...)
			if code != 0 {
				t.Fatalf("exit code %d, %s", code, said)
			}
			d := documentOf(t, out)
			var connections, noted int
			for _, w := range d.Workers {
				connections += w.Connections
			}
			for _, n := range d.Notes {
				if strings.Contains(n, fmt.Sprintf("connections need %d workers, as a process may open 100 files here", c.workers)) && strings.Contains(said, "NOTE: "+n[:30]) {
					noted++
				}
			}
			chosen := c.workers > 0 && name != "asked for"
			there := d.Requests > 0
			if d.Stream != nil { // a busy machine may bring no event in the window
				there = d.Stream.Standing == 80
			}
			if len(d.Workers) != c.workers || !there || len(d.Errors) > 0 || c.workers > 0 && connections != d.Config.Connections || (noted == 1) != chosen {
				t.Errorf("%d workers of %d connections, %d requests, errors %v, notes %q, %s", len(d.Workers), connections, d.Requests, d.Errors, d.Notes, said)
			}
		})
	}
}

// TestLoadCrowdRefuses does not change a requested number of workers, and does not choose
// an unreasonable one.
func TestLoadCrowdRefuses(t *testing.T) {
	const url = "http://127.0.0.1:1/"
	for _, c := range []struct{ args, want string }{
		{"-c 80 --workers 1", "44 too few for each of 1 workers; write --workers 3"},
		{"-c 80 --workers 2", "4 too few for each of 2 workers; write --workers 3"},
		{"-c 10000", "write --workers 278"},
	} {
		code, _, said := limited(t, 100, append(append([]string{"load"}, strings.Fields(c.args)...), url)...)
		if code != 2 || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d, %q; want 2, %q", c.args, code, said, c.want)
		}
	}
}
