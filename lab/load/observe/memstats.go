package observe

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redline-go/redline/lab/probe"
)

// memStats is the part of runtime.MemStats that is used; its fields have the same meaning.
type memStats struct {
	HeapAlloc, TotalAlloc, Mallocs, NumGC uint64

	PauseNs []uint64
}

// pauseRing is the length of runtime.MemStats.PauseNs.
const pauseRing = 256

var errNoMemStats = errors.New("it has no memory statistics")

// parseVars parses expvar's page.
func parseVars(r io.Reader) (memStats, error) {
	var page struct {
		MemStats *memStats `json:"memstats"`
	}
	if err := json.NewDecoder(r).Decode(&page); err != nil {
		return memStats{}, err
	}
	if page.MemStats == nil {
		return memStats{}, errNoMemStats
	}
	return *page.MemStats, nil
}

// parseHeap parses the comment at the end of heap?debug=1, in lines such as "# Mallocs =
// 123" and "# PauseNs = [1 2 3]".
func parseHeap(r io.Reader) (m memStats, err error) {
	wanted := map[string]*uint64{"HeapAlloc": &m.HeapAlloc, "TotalAlloc": &m.TotalAlloc, "Mallocs": &m.Mallocs, "NumGC": &m.NumGC}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		name, value, ok := strings.Cut(strings.TrimPrefix(in.Text(), "# "), " = ")
		if !ok {
			continue
		}
		if to := wanted[name]; to != nil {
			if *to, err = strconv.ParseUint(value, 10, 64); err != nil {
				return m, err
			}
			delete(wanted, name)
		}
		if name == "PauseNs" {
			for _, word := range strings.Fields(strings.Trim(value, "[]")) {
				ns, err := strconv.ParseUint(word, 10, 64)
				if err != nil {
					return m, err
				}
				m.PauseNs = append(m.PauseNs, ns)
			}
		}
	}
	if err := in.Err(); err != nil {
		return m, err
	}
	if len(wanted) > 0 {
		return m, fmt.Errorf("%w: no %s", errNoMemStats, strings.Join(slices.Sorted(maps.Keys(wanted)), ", "))
	}
	return m, nil
}

// pauses makes a histogram of the pauses in readings. If there are more pauses between two
// readings than the ring holds, some are lost.
type pauses struct {
	seen   uint64 // cycles
	begun  bool
	counts map[float64]uint64 // by upper bound, seconds
}

// add counts the pauses since the reading before, and returns the histogram of all pauses.
func (p *pauses) add(m memStats) probe.Histogram {
	if !p.begun || m.NumGC < p.seen {
		*p = pauses{seen: m.NumGC, begun: true, counts: map[float64]uint64{}}
	}
	first := p.seen
	if m.NumGC-first > pauseRing {
		first = m.NumGC - pauseRing
	}
	if len(m.PauseNs) == pauseRing {
		for n := first; n < m.NumGC; n++ {
			p.counts[bound(m.PauseNs[n%pauseRing])]++
		}
	}
	p.seen = m.NumGC
	h := probe.Histogram{LE: slices.Sorted(maps.Keys(p.counts))}
	for _, le := range h.LE {
		h.Counts = append(h.Counts, p.counts[le])
	}
	return h
}

// bound returns the upper bound of a pause's bucket, in seconds: eight an octave, as coarse
// as the runtime's own.
func bound(ns uint64) float64 {
	if ns == 0 {
		return 0
	}
	return math.Exp2(math.Ceil(8*math.Log2(float64(ns)))/8) / 1e9
}
