package diagnose

import (
	"fmt"
	"slices"

	"github.com/redline-go/redline/lab/stats"
	"github.com/redline-go/redline/lab/watch"
)

// Evidence is what was seen of a server. What could not be seen is absent: nil, or not in a map,
// and named in Missing. A rule that needs it then finds nothing.
type Evidence struct {
	Server  Server     `json:"server"`
	Sweep   []Point    `json:"sweep"` // by concurrency, ascending; closed loop
	Law     *stats.USL `json:"law,omitempty"`
	Loads   []Load     `json:"loads"` // low, half and knee, in this order; fewer if the command was interrupted
	Rest    *Rest      `json:"rest,omitempty"`
	Missing []string   `json:"missing,omitempty"` // what could not be seen, with the reason
}

// Server describes the processes under test.
type Server struct {
	PIDs     []int             `json:"pids"`
	Command  string            `json:"command"`            // name of the program
	Language string            `json:"language"`           // go, node, python, nginx or native; empty: unknown
	Version  string            `json:"version,omitempty"`  // of Go
	Module   string            `json:"module,omitempty"`   // path of the main module of a Go program
	Deps     map[string]string `json:"deps,omitempty"`     // versions of its modules
	Settings map[string]string `json:"settings,omitempty"` // environment of the process that changes its runtime: GOGC, GOMEMLIMIT, GOMAXPROCS, GODEBUG, UV_THREADPOOL_SIZE
	CPUs     int               `json:"cpus"`               // that it may use beside the generator
	Procs    int               `json:"procs,omitempty"`    // GOMAXPROCS in force
	Quota    float64           `json:"quota,omitempty"`    // of its control group, in CPUs; 0: none

	// Neighbours are types of a Go program in which atomic values share a cache line.
	Neighbours []Neighbours `json:"neighbours,omitempty"`

	HugePages     string  `json:"huge_pages,omitempty"`      // the kernel's transparent huge pages: always, madvise or never; empty: unknown
	MemoryLimit   float64 `json:"memory_limit,omitempty"`    // of its control group, bytes; 0: none
	FileLimit     float64 `json:"file_limit,omitempty"`      // soft RLIMIT_NOFILE; 0: unknown
	GOGC          int     `json:"gogc,omitempty"`            // in force; 0: unknown
	GoMemoryLimit float64 `json:"go_memory_limit,omitempty"` // in force, bytes; 0: none or unknown
}

// Neighbours is a type of which two atomic values may be in one cache line.
type Neighbours struct {
	Type string `json:"type"`
	What string `json:"what"` // which ones, and how far apart
}

// Cores returns how many CPUs the server can use at most: those beside the generator, the quota,
// GOMAXPROCS, and one for each process of a language that runs on one thread.
func (s *Server) Cores() float64 {
	cores := s.Allowed()
	if s.Procs > 0 {
		cores = min(cores, float64(s.Procs))
	}
	if s.OneThread() {
		cores = min(cores, float64(max(len(s.PIDs), 1)))
	}
	return cores
}

// Allowed returns how many CPUs the server may use: those beside the generator, and the quota.
func (s *Server) Allowed() float64 {
	cores := float64(max(s.CPUs, 1))
	if s.Quota > 0 {
		cores = min(cores, s.Quota)
	}
	return cores
}

// OneThread reports whether programs of the language run on one CPU each.
func (s *Server) OneThread() bool { return s.Language == "node" || s.Language == "python" }

// Saturated is the share of the CPUs from which on they are the limit.
const Saturated = 0.8

// A Point is a short run at one concurrency.
type Point struct {
	Connections int     `json:"connections"`
	Rate        float64 `json:"rate"` // right answers a second
	P50         float64 `json:"p50"`  // seconds; 0: too few samples
	P99         float64 `json:"p99"`  // seconds; 0: too few samples
	CPU         float64 `json:"cpu"`  // cores that the server used; 0: unknown
	Errors      float64 `json:"errors"`
	Valid       bool    `json:"valid"` // the generator's gates passed
	Why         string  `json:"why,omitempty"`
}

// The names of the loads.
const (
	Low  = "low"  // a tenth of the ceiling
	Half = "half" // half of the ceiling
	Knee = "knee" // closed loop at the knee's concurrency
)

// A Load is what was seen of the server under one load.
type Load struct {
	Name        string    `json:"name"`
	Connections int       `json:"connections"`
	Reconnect   int       `json:"reconnect,omitempty"` // answers after which the generator itself replaces a connection; 0: never
	Target      float64   `json:"target,omitempty"`    // arrivals a second; 0: a closed loop
	Seconds     float64   `json:"seconds"`
	Looked      float64   `json:"looked"`     // seconds of the window in which the probes looked
	Rate        float64   `json:"rate"`       // right answers a second
	InFlight    float64   `json:"in_flight"`  // requests sent and not answered, on average
	CPU         float64   `json:"cpu"`        // CPU seconds of the server a right answer; 0: unknown
	Cores       float64   `json:"cores"`      // that the server used
	System      float64   `json:"system"`     // share of its CPU time in the kernel, 0 to 1
	Latency     Latency   `json:"latency"`    // of right answers
	FirstByte   Latency   `json:"first_byte"` // until their first byte
	Errors      float64   `json:"errors"`     // share of the requests
	Kinds       Counts    `json:"kinds,omitempty"`
	Connects    float64   `json:"connects"` // new connections a right answer, without the first of each
	Answer      float64   `json:"answer"`   // bytes of an answer, head and body
	Request     float64   `json:"request"`  // bytes of a request, head and body
	TLS         *TLS      `json:"tls,omitempty"`
	Generator   Generator `json:"generator"`

	Shared  *Shared        `json:"shared,omitempty"`
	Kernel  *Kernel        `json:"kernel,omitempty"`
	Watch   watch.Summary  `json:"watch"`             // of the window
	Samples []watch.Sample `json:"samples,omitempty"` // of the window, each 200 ms

	OnCPU  *Stacks `json:"on_cpu,omitempty"`  // CPU seconds, user and kernel
	OffCPU *Stacks `json:"off_cpu,omitempty"` // seconds that threads were blocked
	Wall   *Stacks `json:"wall,omitempty"`    // goroutines, on average over the window
	Allocs *Stacks `json:"allocs,omitempty"`  // bytes allocated in the window
}

// Counts are numbers by name.
type Counts map[string]uint64

// Latency is a distribution, in seconds. A quantile with too few samples is 0.
type Latency struct {
	Count             uint64 `json:"count"`
	Mean, Min         float64
	P50, P90, P99, P3 float64 // P3 is the 99.9th
	Max               float64
	// Steps are the peaks of the distribution that hold a twentieth of it or more, by the
	// latency in seconds and the share: delayed acknowledgements show as one near 0.04.
	Steps []Step `json:"steps,omitempty"`
}

// A Step is one peak of a distribution.
type Step struct{ At, Share float64 }

// TLS is what the generator saw of handshakes.
type TLS struct {
	Handshakes float64 `json:"handshakes"` // per right answer
	Resumed    float64 `json:"resumed"`    // share of the handshakes
}

// Generator says whether the generator was the limit.
type Generator struct {
	CPU     float64  `json:"cpu"`     // share of its CPUs that it used
	Foreign float64  `json:"foreign"` // share of the CPUs of both sides that other processes used: backends, or a disturbance
	Stolen  float64  `json:"stolen"`  // share of the CPUs of both sides that the hypervisor took
	Valid   bool     `json:"valid"`
	Why     string   `json:"why,omitempty"`   // the first gate that failed, and not by a disturbance
	Notes   []string `json:"notes,omitempty"` // other disturbances than foreign and stolen CPU time
}

// Shared is how the CPUs were shared with others in the window.
type Shared struct {
	CPUs     int      `json:"cpus"`            // that server and generator may use
	Names    []string `json:"names,omitempty"` // of processes that belong to nothing here and used most, with the CPUs
	Backends float64  `json:"backends"`        // that processes used to which the server connects, in CPUs
	Delay    float64  `json:"delay"`           // seconds each second that the server's threads could run and had no CPU, summed over threads
}

// Taken returns the share of the CPUs that others took: processes that belong to nothing here, and
// the hypervisor.
func (l *Load) Taken() (others, stolen float64) {
	if l.Shared != nil && l.Shared.CPUs > 0 {
		others = max(l.Generator.Foreign-l.Shared.Backends/float64(l.Shared.CPUs), 0)
	}
	return others, l.Generator.Stolen
}

// Kernel is what eBPF counted for the server in the window.
type Kernel struct {
	Seconds  float64            `json:"seconds"`
	Calls    map[string]Syscall `json:"calls"`
	Peers    []Peer             `json:"peers"`               // remote addresses to which the server connected
	Lookups  float64            `json:"lookups"`             // of names, per second
	RunQueue Delay              `json:"run_queue"`           // of threads, from runnable to running
	Blocked  map[string]float64 `json:"blocked,omitempty"`   // seconds of threads a second, by the system call they were in
	Parts    map[string]float64 `json:"cpu_parts,omitempty"` // shares of the kernel's CPU time: tcp, copy, filesystem ...
	Resets   float64            `json:"resets"`              // connections a second
}

// Syscall is what one kind of system call did.
type Syscall struct {
	Rate    float64 `json:"rate"`    // calls a second
	Errors  float64 `json:"errors"`  // calls a second that failed, without Again
	Again   float64 `json:"again"`   // calls a second that failed with EAGAIN
	Seconds float64 `json:"seconds"` // in the call, each second
	Bytes   float64 `json:"bytes"`   // a call that moved some

	Codes map[string]float64 `json:"codes,omitempty"` // calls a second that failed, by error such as EMFILE
}

// Peer is one remote address of outgoing connections.
type Peer struct {
	Addr     string  `json:"addr"`     // host:port
	Protocol string  `json:"protocol"` // tcp or udp
	Connects float64 `json:"connects"` // a second
	Sends    float64 `json:"sends"`    // calls a second
	Bytes    float64 `json:"bytes"`    // a send
	Waits    float64 `json:"waits"`    // exchanges a second: a send, followed by a receive
	Resets   float64 `json:"resets"`   // received, a second
	Wait     Delay   `json:"wait"`     // from the last byte sent to the first one received
}

// Delay is a distribution, in seconds.
type Delay struct{ Mean, P50, P99 float64 }

// Slim returns the evidence without samples and stacks, which are large.
func (e *Evidence) Slim() Evidence {
	slim := *e
	slim.Loads = slices.Clone(e.Loads)
	for i := range slim.Loads {
		l := &slim.Loads[i]
		l.Samples, l.OnCPU, l.OffCPU, l.Wall, l.Allocs = nil, nil, nil, nil, nil
	}
	if e.Rest != nil {
		rest := *e.Rest
		rest.Wall = nil
		slim.Rest = &rest
	}
	return slim
}

// absurd is a rate that no server reaches.
const absurd = 1e12

// Check returns an error for evidence that no server gives, such as recorded evidence that was
// changed.
func (e *Evidence) Check() error {
	for _, p := range e.Sweep {
		if !(p.Rate >= 0 && p.Rate < absurd) || p.Connections < 1 {
			return fmt.Errorf("the evidence is damaged: a sweep of %d connections has the rate %v", p.Connections, p.Rate)
		}
	}
	for _, l := range e.Loads {
		if !(l.Rate >= 0 && l.Rate < absurd) || l.Name != Low && l.Name != Half && l.Name != Knee {
			return fmt.Errorf("the evidence is damaged: the load %q has the rate %v", l.Name, l.Rate)
		}
	}
	return nil
}

// Miss adds what could not be seen, once.
func (e *Evidence) Miss(why error) {
	if !slices.Contains(e.Missing, why.Error()) {
		e.Missing = append(e.Missing, why.Error())
	}
}

// Load returns the load with a name; nil if there was none.
func (e *Evidence) Load(name string) *Load {
	for i := range e.Loads {
		if e.Loads[i].Name == name {
			return &e.Loads[i]
		}
	}
	return nil
}

// Knee returns the highest load; nil without one.
func (e *Evidence) Knee() *Load { return e.Load(Knee) }

// Busy returns the share of the CPUs that the server could use, and used under the load.
func (e *Evidence) Busy(l *Load) float64 { return l.Cores / e.Server.Cores() }

// Figure returns the median of a figure of the watch under the load.
func (l *Load) Figure(name string) (v float64, ok bool) {
	r, ok := l.Watch.Figures[name]
	return r.Median, ok
}

// Rated returns the mean rate of a counter of the watch under the load, per second.
func (l *Load) Rated(name string) (v float64, ok bool) {
	total, ok := l.Watch.Totals[name]
	if !ok || l.Watch.Seconds == 0 {
		return 0, false
	}
	return total / l.Watch.Seconds, true
}

// Answers returns the right answers while the probes looked.
func (l *Load) Answers() float64 { return l.Rate * l.Looked }

// Each returns a rate per second as a number per right answer.
func (l *Load) Each(rate float64) float64 {
	if l.Rate == 0 {
		return 0
	}
	return rate / l.Rate
}
