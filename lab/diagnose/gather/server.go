package gather

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/diagnose"
)

// The languages that a diagnosis knows.
const (
	Go     = "go"
	Node   = "node"
	Python = "python"
	Nginx  = "nginx"
	Native = "native" // any other program
)

// interpreters are the languages whose executable is not the server's own code.
var interpreters = []string{Node, Python}

// settings are the variables of the environment that change a runtime. Their values are no
// secrets.
var settings = []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG", "GLIBC_TUNABLES", "NODE_ENV", "UV_THREADPOOL_SIZE", "PYTHONOPTIMIZE", "WEB_CONCURRENCY"}

// Describe reads what is known about the server's processes, of which the first is the one to
// look at. What cannot be read is left empty.
func Describe(pids []int, cpus int) diagnose.Server {
	s := diagnose.Server{PIDs: pids, CPUs: cpus}
	if len(pids) == 0 {
		return s
	}
	dir := filepath.Join("/proc", strconv.Itoa(pids[0]))
	exe := filepath.Join(dir, "exe")
	path, err := os.Readlink(exe)
	if err != nil {
		return s // another user's
	}
	s.Command = strings.TrimSuffix(filepath.Base(path), " (deleted)")
	s.Language = language(s.Command)
	if info, err := buildinfo.ReadFile(exe); err == nil {
		s.Language, s.Version, s.Module, s.Deps = Go, info.GoVersion, info.Main.Path, map[string]string{}
		for _, d := range info.Deps {
			s.Deps[d.Path] = d.Version
		}
	}
	if env, err := os.ReadFile(filepath.Join(dir, "environ")); err == nil {
		s.Settings = chosen(env)
	}
	if limits, err := os.ReadFile(filepath.Join(dir, "limits")); err == nil {
		s.FileLimit = fileLimit(string(limits))
	}
	if text, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled"); err == nil {
		s.HugePages = selected(string(text))
	}
	return s
}

// selected returns the word in brackets of a setting of the kernel, as madvise of
// "always [madvise] never".
func selected(text string) string {
	_, text, _ = strings.Cut(text, "[")
	word, _, _ := strings.Cut(text, "]")
	return word
}

func language(program string) string {
	switch {
	case program == "node" || program == "nodejs" || program == "bun" || program == "deno":
		return Node
	case strings.HasPrefix(program, "python") || strings.HasPrefix(program, "pypy"):
		return Python
	case program == "nginx" || program == "openresty":
		return Nginx
	}
	return Native
}

// chosen returns those of the settings that are in an environment.
func chosen(env []byte) map[string]string {
	out := map[string]string{}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		name, value, _ := strings.Cut(string(entry), "=")
		if slices.Contains(settings, name) {
			out[name] = value
		}
	}
	return out
}

// fileLimit returns the soft limit of open files in the text of /proc/PID/limits; 0 if it has
// none.
func fileLimit(limits string) float64 {
	for text := range strings.Lines(limits) {
		if rest, ok := strings.CutPrefix(text, "Max open files"); ok {
			var soft float64
			if _, err := fmt.Sscan(rest, &soft); err == nil {
				return soft
			}
		}
	}
	return 0
}

// complete adds what the watch read of the server at rest.
func complete(s *diagnose.Server, figures map[string]float64) {
	s.Quota = figures["cgroup_cpu_quota"]
	s.MemoryLimit = figures["cgroup_memory_limit_bytes"]
	s.Procs = int(figures["go_procs"])
}
