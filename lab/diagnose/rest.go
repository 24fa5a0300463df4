package diagnose

import (
	"math"
	"time"
)

// Rest is the server before the load and after it, at rest.
type Rest struct {
	After   time.Duration      `json:"after"` // time from the end of the load to the last reading
	Answers float64            `json:"answers"`
	Before  map[string]float64 `json:"before"` // figures of the watch
	Later   map[string]float64 `json:"later"`
	Wall    *Stacks            `json:"wall,omitempty"` // goroutines that are left, after the load
	// Collections that ended between the load and Later, by requests that were sent for that: only
	// if memory seemed to be left.
	Collections float64 `json:"collections,omitempty"`
	Again       *Again  `json:"again,omitempty"` // nil: no memory seemed to be left
}

// Again is what a second load left.
type Again struct {
	Answers float64            `json:"answers"`
	Left    map[string]float64 `json:"left"` // by how much the figures grew beyond Rest.Later
}

// The figures of memory that is left.
const (
	LiveHeap = "heap_live_bytes"
	Resident = "rss_bytes"
)

const (
	leastMemory   = 16 << 20 // bytes that are left, below which caches and pools explain them
	leastResident = 64 << 20 // the same of resident memory: allocators keep memory for later
	leastBytes    = 32       // bytes that an answer leaves
	sureOfHeap    = 2        // collections since the load after which the live heap is known
	// byConnection is what a server may keep in memory for an open connection.
	byConnection = 64 << 10
)

// Memory is how much memory is left at rest beyond what there was before.
type Memory struct {
	Figure      string  // LiveHeap of a Go program whose collector has run, or Resident; empty: unknown
	Left        float64 // bytes, without those of connections
	Each        float64 // bytes for each answer
	Connections float64 // bytes that open connections account for
	before      float64
}

// Memory returns how much memory is left. The live heap is that of the last collection: until two
// have ended, it may be that of the load.
func (r *Rest) Memory() (m Memory) {
	figures := []string{LiveHeap, "heap_bytes", Resident}
	if r.Again != nil && r.Collections < sureOfHeap {
		figures = figures[2:]
	}
	for _, name := range figures {
		before, has := r.Before[name]
		later, also := r.Later[name]
		if !has || !also {
			continue
		}
		m = Memory{Figure: name, before: before}
		m.Connections = byConnection * max(r.Later["tcp_established"]-r.Before["tcp_established"], 0)
		m.Left = later - before - m.Connections
		m.Each = m.Left / max(r.Answers, 1)
		if math.IsNaN(m.Left) || math.IsInf(m.Left, 0) || math.IsNaN(m.Each) {
			return Memory{}
		}
		return m
	}
	return m
}

// Suspect reports whether so much is left that it may be a leak.
func (m Memory) Suspect() bool {
	least := float64(leastMemory)
	if m.Figure == Resident {
		least = leastResident
	}
	return m.Figure != "" && m.Left >= least && m.Each >= leastBytes && m.Left >= m.before/2
}
