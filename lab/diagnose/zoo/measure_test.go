package zoo

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var redline = flag.String("redline", "", "path of the redline command: TestMeasure loads the species with it")

// TestMeasure loads every species and its twin, and prints what the descriptions have as
// measured. It asserts nothing: the figures are those of this machine, at this time.
func TestMeasure(t *testing.T) {
	if *redline == "" {
		t.Skip("give -redline PATH to measure")
	}
	for _, s := range All() {
		t.Run(s.Name, func(t *testing.T) {
			sick, twin := load(t, s, false), load(t, s, true)
			t.Logf("sick: %v", sick)
			t.Logf("twin: %v", twin)
			t.Logf("twin is better by: cpu %.2f, latency %.2f, rate %.2f, growth %.1f",
				sick.CPU/twin.CPU, sick.Latency/twin.Latency, twin.Rate/sick.Rate, sick.growth()/twin.growth())
		})
	}
}

// figures are what was measured of one variant.
type figures struct {
	Rate, Latency, CPU   float64 // requests per second; milliseconds; microseconds per request
	Errors               float64 // errors per request
	Utilisation          float64 // of the server's CPUs
	Threads, Files       float64 // at the end
	Memory, Memory0      float64 // MiB, at the end and at the beginning
	Goroutines, Valid    string
	Voluntary, Throttled float64
}

func (f figures) String() string {
	return fmt.Sprintf("%.0f/s, mean %.3f ms, %.1f µs CPU, errors %.3f, utilisation %.2f, %v threads, %v files, RSS %.1f from %.1f MiB",
		f.Rate, f.Latency, f.CPU, f.Errors, f.Utilisation, f.Threads, f.Files, f.Memory, f.Memory0)
}

// growth is that of memory and files, in MiB and numbers; at least one, as a divisor.
func (f figures) growth() float64 { return max(1, f.Memory-f.Memory0) + f.Files }

func load(t *testing.T, s Species, twin bool) figures {
	t.Helper()
	server, err := s.Start(t.Context(), twin)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	file := filepath.Join(t.TempDir(), "result.json")
	before := resident(server.PID)
	out, err := exec.Command(*redline, append(loadFlags(s), "--json", file, "http"+strings.Repeat("s", btoi(s.TLS))+"://"+server.Addr+s.Requests[0].Path)...).CombinedOutput()
	text, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatalf("%v: %v\n%s", readErr, err, out)
	}
	var r struct {
		Rate    float64 `json:"requests_per_second"`
		Errors  float64 `json:"error_ratio"`
		Latency struct {
			Mean float64 `json:"mean_us"`
		} `json:"latency"`
		Server struct {
			CPU struct {
				PerRequest  float64 `json:"per_request_us"`
				Utilisation float64 `json:"utilisation"`
			} `json:"cpu"`
			Process struct {
				Threads float64 `json:"threads"`
				Files   float64 `json:"open_files"`
			} `json:"process"`
		} `json:"server"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return figures{
		Rate: r.Rate, Errors: r.Errors, Latency: r.Latency.Mean / 1000, CPU: r.Server.CPU.PerRequest, Utilisation: r.Server.CPU.Utilisation,
		Threads: r.Server.Process.Threads, Files: r.Server.Process.Files, Memory0: before, Memory: resident(server.PID),
	}
}

// loadFlags are the flags of redline load for the first request of a species.
func loadFlags(s Species) []string {
	r := s.Requests[0]
	flags := []string{
		"load", "-d", "4s", "--warmup", "1s", "--quiet", "--allow-invalid", "--timeout", "5s",
		"-c", strconv.Itoa(s.Connections), "-X", r.Method, "--status", strconv.Itoa(r.Status), "--keep-going",
	}
	for name, value := range r.Headers {
		flags = append(flags, "-H", name+": "+value)
	}
	if r.Body != "" {
		flags = append(flags, "--body", r.Body)
	}
	if s.Rate > 0 {
		flags = append(flags, "--rate", strconv.FormatFloat(s.Rate, 'f', -1, 64))
	}
	if s.PerConnection > 0 {
		flags = append(flags, "--requests-per-connection", strconv.Itoa(s.PerConnection))
	}
	if s.TLS {
		flags = append(flags, "--insecure", "--tls-resume")
	}
	return flags
}

// resident is the memory of a process in MiB, 0 if it cannot be read.
func resident(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	words := strings.Fields(string(text))
	if err != nil || len(words) < 2 {
		return 0
	}
	pages, err := strconv.ParseFloat(words[1], 64)
	if err != nil {
		return 0
	}
	return pages * float64(os.Getpagesize()) / (1 << 20)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
