package zoo

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

var (
	measure = flag.String("measure", "", "load every species and its twin with this `redline` binary, and print the ratios")
	window  = flag.String("window", "3s", "measured time of one run of -measure")
	rounds  = flag.Int("rounds", 2, "runs of each variant of -measure")
)

// figures are what one run measured.
type figures struct {
	Rate    float64 `json:"requests_per_second"`
	Latency struct {
		Mean float64 `json:"mean_us"`
	} `json:"latency"`
	Server struct {
		CPU struct {
			PerRequest  float64 `json:"per_request_us"`
			Utilisation float64 `json:"utilisation"`
		} `json:"cpu"`
		Memory struct {
			Final float64 `json:"rss_final_bytes"`
		} `json:"memory"`
		Process struct {
			Files float64 `json:"open_files"`
		} `json:"process"`
	} `json:"server"`
	Errors     float64 `json:"error_ratio"`
	Goroutines float64 `json:"-"` // after the run; 0 without net/http/pprof
}

// TestMeasure prints how much better the twins are, for the field measured of the
// descriptions. It only asserts that requests are answered: figures depend on the machine.
//
//	go build -o /tmp/redline ./lab/cmd/redline
//	go test ./lab/diagnose/zoo -run TestMeasure/n-plus-one -v -measure /tmp/redline
func TestMeasure(t *testing.T) {
	if *measure == "" {
		t.Skip("it takes minutes: run it with -measure REDLINE")
	}
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			var all [2][]figures // sick, twin
			for range *rounds {
				for i, twin := range []bool{false, true} {
					all[i] = append(all[i], run(t, s, twin))
				}
			}
			sick, twin := best(all[0]), best(all[1])
			t.Logf("%-22s cpu %8.1f %8.1f us x%5.2f | latency %7.2f %7.2f ms x%6.2f | rate %7.0f %7.0f x%6.2f | cpus %.2f %.2f | RSS %4.0f %4.0f MB | files %4.0f %4.0f | goroutines %.0f %.0f | errors %.3f %.3f",
				s.Name,
				sick.Server.CPU.PerRequest, twin.Server.CPU.PerRequest, sick.Server.CPU.PerRequest/twin.Server.CPU.PerRequest,
				sick.Latency.Mean/1000, twin.Latency.Mean/1000, sick.Latency.Mean/twin.Latency.Mean,
				sick.Rate, twin.Rate, twin.Rate/sick.Rate,
				sick.Server.CPU.Utilisation, twin.Server.CPU.Utilisation,
				sick.Server.Memory.Final/1e6, twin.Server.Memory.Final/1e6, sick.Server.Process.Files, twin.Server.Process.Files,
				sick.Goroutines, twin.Goroutines, sick.Errors, twin.Errors)
		})
	}
}

// best is the run with the highest rate: other processes of the machine only make it lower.
func best(runs []figures) figures {
	best := runs[0]
	for _, r := range runs[1:] {
		if r.Rate > best.Rate {
			best = r
		}
	}
	return best
}

// run loads one variant once.
func run(t *testing.T, s Species, twin bool) figures {
	t.Helper()
	server, err := s.Start(t.Context(), twin)
	if errors.Is(err, ErrNeeds) {
		t.Skip(err)
	}
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
	result := filepath.Join(t.TempDir(), "run.json")
	args := append([]string{"load", "--targets", "-", "-d", *window, "--warmup", "1s", "--keep-going", "--json", result}, s.Flags()...)
	cmd := exec.CommandContext(t.Context(), *measure, args...)
	cmd.Stdin = bytes.NewReader(scenario)
	out, err := cmd.CombinedOutput() // exits with 4 on a machine that is not quiet
	text, readErr := os.ReadFile(result)
	if readErr != nil {
		t.Fatalf("%v: %v\n%s", err, readErr, out)
	}
	var f figures
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	if f.Rate == 0 {
		t.Errorf("twin=%v: no requests were answered: %s", twin, out)
	}
	f.Goroutines = goroutines(t, server)
	return f
}

// goroutines is the number of goroutines of a server with net/http/pprof, 0 without.
func goroutines(t *testing.T, server *Server) (n float64) {
	if server.PProf == "" {
		return 0
	}
	resp, err := http.Get(server.PProf + "goroutine?debug=1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := fmt.Fscanf(resp.Body, "goroutine profile: total %g", &n); err != nil {
		t.Fatal(err)
	}
	return n
}
