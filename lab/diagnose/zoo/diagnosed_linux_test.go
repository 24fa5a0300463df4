package zoo

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Two services with a backend and a quota are diagnosed in short: the planted cause is among the first
// three. TestDiagnoseDocs of the command diagnoses one that computes, and `make zoo` all, in full.
func TestDiagnosed(t *testing.T) {
	redline := filepath.Join(t.TempDir(), "redline")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-w", "-o", redline, "../../cmd/redline").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	some := map[string]bool{"pool-too-small-http": true, "lock-contention": true}
	for _, s := range All() {
		if !some[s.Name] {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			server, err := s.Start(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := server.Stop(); err != nil {
					t.Error(err)
				}
			}()
			scenario, err := s.Scenario(server.Addr)
			if err != nil {
				t.Fatal(err)
			}
			// A longer one may see more. So may another one that has no doubt of a wrong cause: other tests
			// take the CPUs, and not always while a diagnosis looks for that.
			for i, window := 0, 1500*time.Millisecond; ; i, window = i+1, 2*window {
				cmd := exec.CommandContext(t.Context(), redline, "diagnose", "--targets", "-", "--most", "32", "--step", "300ms", "--window", window.String(), "--warmup", "200ms", "--quiet", "--json", "-", s.Base(server.Addr))
				if diagnosed(t, cmd, scenario, s.Cause) {
					return
				}
				if i == 3 {
					t.Fatal("it does not name the cause")
				}
			}
		})
	}
}

// diagnosed runs a diagnosis. It reports whether a cause is among the first three.
func diagnosed(t *testing.T, cmd *exec.Cmd, scenario []byte, cause string) (named bool) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(scenario), &said
	out, err := cmd.Output() // exits with 4 on a machine that is not quiet
	var r struct {
		Causes []struct {
			ID string `json:"id"`
		} `json:"causes"`
		Missing []string `json:"missing"`
		Doubts  []string `json:"doubts"`
	}
	if json.Unmarshal(out, &r) != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	for _, c := range r.Causes[:min(len(r.Causes), 3)] {
		named = named || c.ID == cause
	}
	if !named {
		t.Logf("it names %v, doubts %q, and did not see %q", r.Causes, r.Doubts, r.Missing)
	}
	return named
}
