package oom

import (
	"time"

	"github.com/redline-go/redline/lab/results"
)

// Schema names the format of a [Report].
const Schema = "redline.oom/1"

// Report is the result of the verb.
type Report struct {
	Schema  string          `json:"schema"`
	Tool    string          `json:"tool"`
	Command []string        `json:"command"` // arguments of redline, without credentials
	Started time.Time       `json:"started"`
	Ended   time.Time       `json:"ended"`
	URL     string          `json:"url"`
	Machine results.Machine `json:"machine"`
	Verdict string          `json:"verdict"`
	Partial string          `json:"partial,omitempty"` // why it is not complete; empty: it is
	Runs    []*Run          `json:"runs"`              // with another oom_score_adj: the second
}

// The outcomes of a run.
const (
	Held    = "held"    // it answered until the end of the last step
	Died    = "died"    // the kernel killed one of its processes, or it ended
	Stopped = "stopped" // redline ended it, because no group bounds its memory
)

// Run is one run of the server.
type Run struct {
	Limit    int64   `json:"limit_bytes,omitempty"`      // of the group; 0: there is no group
	GoLimit  int64   `json:"gomemlimit_bytes,omitempty"` // 0: as the environment says
	ScoreAdj *int    `json:"oom_score_adj,omitempty"`    // written; absent: that of redline
	Group    string  `json:"group,omitempty"`            // cgroup v1 or v2
	Start    int64   `json:"start_rss_bytes"`            // resident memory before the load
	Outcome  string  `json:"outcome"`
	How      string  `json:"how,omitempty"` // the end of the process that was started, if it ended
	End      float64 `json:"end_seconds"`   // since the first step began

	Valid bool     `json:"valid"`
	Why   []string `json:"why,omitempty"` // it is not valid

	Steps   []Step    `json:"steps"`
	Signs   []Sign    `json:"signs"` // what gave way, in order of time
	Kills   []Kill    `json:"kills,omitempty"`
	Members []Process `json:"processes"`            // at the last look before the end
	Last    State     `json:"last"`                 // before the end
	Peak    *int64    `json:"peak_bytes,omitempty"` // of the group, as the kernel counts
	Samples []Sample  `json:"samples"`
	Missing []string  `json:"missing,omitempty"` // what could not be read or set, and why
}

// Load is the load of one step.
type Load struct {
	Connections int     `json:"connections"`
	Rate        float64 `json:"rate,omitempty"`       // of an open loop, requests a second; 0: a closed loop
	Body        int64   `json:"body_bytes,omitempty"` // of each request; 0: as the flags say
}

// Step is what one step saw. Figures are absent if it ended too early.
type Step struct {
	Load
	Began  float64  `json:"began_seconds"` // of the window, since the first step began
	Ended  float64  `json:"ended_seconds"`
	Cut    bool     `json:"cut,omitempty"` // the server ended in it
	Done   *float64 `json:"requests_per_second,omitempty"`
	P50    *float64 `json:"p50_us,omitempty"`
	P99    *float64 `json:"p99_us,omitempty"`
	Errors *float64 `json:"error_ratio,omitempty"`
	Most   State    `json:"most"` // highest values
	Valid  bool     `json:"valid"`
	Why    string   `json:"why,omitempty"`
	// Disturbed says what the machine did meanwhile: latencies are at most those here.
	Disturbed []string `json:"disturbed,omitempty"`
	Points    []Point  `json:"points,omitempty"`
}

// Point is a part of a step.
type Point struct {
	T      float64 `json:"t"` // its end, in seconds since the first step began
	P99    float64 `json:"p99_us,omitempty"`
	Errors float64 `json:"error_ratio"`
}

// State is the memory at a time. What was not read is absent.
type State struct {
	Group    *float64 `json:"group_bytes,omitempty"`     // with page cache and sockets
	RSS      *float64 `json:"rss_bytes,omitempty"`       // of all processes
	HeapLive *float64 `json:"heap_live_bytes,omitempty"` // of the Go program that was started, as of its last collection
	HeapGoal *float64 `json:"heap_goal_bytes,omitempty"`
	GC       *float64 `json:"gc_share,omitempty"` // of the CPU time of the program, in the last second or more
}

// Sample is a State at a time.
type Sample struct {
	T float64 `json:"t"` // seconds since the first step began
	State
	GCSeconds *float64 `json:"gc_cpu_seconds,omitempty"` // CPU time of collections, since the watch began
	GoSeconds *float64 `json:"go_cpu_seconds,omitempty"` // of the whole runtime
}

// Process is a process of the group.
type Process struct {
	PID   int    `json:"pid"`
	Name  string `json:"name"`
	RSS   int64  `json:"rss_bytes"`
	Score *int   `json:"oom_score,omitempty"`     // with which the kernel compares processes when the machine is short
	Adj   *int   `json:"oom_score_adj,omitempty"` // see proc_pid_oom_score_adj(5)
	Root  bool   `json:"root,omitempty"`          // the process that was started
}

// Kill is a process that the kernel killed.
type Kill struct {
	Process
	T      float64 `json:"t"`      // when it was noticed
	Source string  `json:"source"` // how it is known which one
}

// The kinds of signs.
const (
	SignLatency = "latency"
	SignGC      = "gc"
	SignErrors  = "errors"
	SignKill    = "kill"
	SignEnd     = "end" // the process ended, not killed for its memory
	SignStop    = "stop"
)

// Sign says that something gave way.
type Sign struct {
	Kind string  `json:"kind"`
	Step int     `json:"step"` // index
	T    float64 `json:"t"`    // seconds since the first step began
	Text string  `json:"text"`
}
