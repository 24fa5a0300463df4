package zoo

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// A few services, one that waits, one that computes and one in need of a quota, are diagnosed in
// short: the planted cause is among the first three. `make zoo` diagnoses all, in full.
func TestDiagnosed(t *testing.T) {
	redline := filepath.Join(t.TempDir(), "redline")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", redline, "../../cmd/redline").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	some := map[string]bool{"pool-too-small-http": true, "regexp-compile": true, "lock-contention": true}
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
			cmd := exec.CommandContext(t.Context(), redline, "diagnose", "--targets", "-", "--most", "32", "--step", "300ms", "--window", "1500ms", "--warmup", "200ms", "--quiet", "--json", "-", s.Base(server.Addr))
			var said bytes.Buffer
			cmd.Stdin, cmd.Stderr = bytes.NewReader(scenario), &said
			out, err := cmd.Output() // exits with 4 on a machine that is not quiet
			var r struct {
				Causes []struct {
					ID string `json:"id"`
				} `json:"causes"`
				Missing []string `json:"missing"`
			}
			if json.Unmarshal(out, &r) != nil {
				t.Fatalf("%v\n%s", err, said.String())
			}
			for _, c := range r.Causes[:min(len(r.Causes), 3)] {
				if c.ID == s.Cause {
					return
				}
			}
			t.Errorf("it names %v, and did not see %q", r.Causes, r.Missing)
		})
	}
}
