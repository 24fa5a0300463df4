package machine

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
)

// Limits from which on load is reported.
const (
	busyProcess = 0.05 // of one CPU
	muchSteal   = 0.005
	muchWaiting = 0.05
)

// A reading is the state of the counters at one time.
type reading struct {
	at        time.Time
	ticks     procfs.Ticks
	processes map[int]procfs.Stat
	pressure  time.Duration
	pressured bool // the kernel reports pressure
	throttled int  // times that cores were slowed down because of heat, since boot
}

func (h *Host) reading() (r reading, err error) {
	fs := h.fs()
	r.at = time.Now()
	if r.ticks, err = fs.Ticks(nil); err != nil {
		return r, err
	}
	if r.processes, err = fs.Stats(); err != nil {
		return r, err
	}
	if p, err := fs.Pressure(); err == nil { // missing before Linux 4.20, and where it is disabled
		r.pressure, r.pressured = p, true
	}
	for cpu := range cpuCount(fs) {
		if n, ok := number(fs, cpuDir("cpu"+strconv.Itoa(cpu), "thermal_throttle", "core_throttle_count")...); ok {
			r.throttled += n
		}
	}
	return r, nil
}

// load reports other activity between two readings.
func (h *Host) load(before, after reading) []Finding {
	fs := h.fs()
	cpus := cpuCount(fs)
	var found []Finding
	if busy := h.busy(before, after, cpus); len(busy) > 0 {
		found = append(found, Finding{
			Name: "other processes", Value: strings.Join(busy, ", "), Disturbs: true,
			Why:    "they take CPU, cache and memory bandwidth from both sides, and not evenly",
			Advice: "stop them, or wait until they are done",
		})
	}
	if avg := text(fs, "proc", "loadavg"); avg != "" {
		first, _, _ := strings.Cut(avg, " ")
		if n, err := strconv.ParseFloat(first, 64); err == nil && n > float64(cpus)/2 {
			found = append(found, Finding{
				Name: "load average", Value: fmt.Sprintf("%.2f over a minute, on %d CPUs", n, cpus),
				Why:    "the machine was busy until just now: it may be hot, and the load may return",
				Advice: "wait until it is below " + strconv.FormatFloat(float64(cpus)/2, 'g', -1, 64),
			})
		}
	}
	if steal := after.ticks.Steal(before.ticks); steal > muchSteal {
		found = append(found, Finding{
			Name: "steal", Value: percent(steal), Disturbs: true,
			Why:    "the hypervisor ran other guests while this one wanted its CPU",
			Advice: "measure at another time, or on a machine with dedicated CPUs",
		})
	}
	if took := after.at.Sub(before.at); before.pressured && after.pressured && took > 0 {
		if waiting := min(1, float64(after.pressure-before.pressure)/float64(took)); waiting > muchWaiting {
			found = append(found, Finding{
				Name: "CPU pressure", Value: percent(waiting) + " of the time", Disturbs: true,
				Why:    "runnable tasks waited for a CPU although no measurement is running",
				Advice: "stop other programs",
			})
		}
	}
	if n := after.throttled - before.throttled; n > 0 {
		found = append(found, Finding{
			Name: "thermal throttling", Value: fmt.Sprintf("%d times in the last sample", n), Disturbs: true,
			Why:    "the CPU lowers its clock because it is too hot",
			Advice: "let it cool down, and improve its cooling",
		})
	}
	return found
}

// busy names the processes, other than this one, that used a noticeable share of a CPU, the
// busiest first. Shares are a ratio of ticks, so neither a clock nor the length of a tick
// is needed.
func (h *Host) busy(before, after reading, cpus int) []string {
	if after.ticks.Total <= before.ticks.Total {
		return nil
	}
	perCPU := float64(after.ticks.Total-before.ticks.Total) / float64(max(cpus, 1))
	type taker struct {
		procfs.Stat
		share float64
	}
	var takers []taker
	for pid, now := range after.processes {
		then, ok := before.processes[pid]
		if !ok || then.Start != now.Start {
			then = procfs.Stat{} // new: all that it has used was used in the sample
		}
		share := float64(now.Ticks-min(now.Ticks, then.Ticks)) / perCPU
		if pid != h.pid() && share > busyProcess {
			takers = append(takers, taker{now, share})
		}
	}
	slices.SortFunc(takers, func(a, b taker) int {
		if a.share != b.share {
			return int(math.Copysign(1, b.share-a.share))
		}
		return a.PID - b.PID
	})
	const shown = 5
	var text []string
	for i, t := range takers {
		if i == shown {
			text = append(text, fmt.Sprintf("%d more", len(takers)-shown))
			break
		}
		text = append(text, fmt.Sprintf("%s (%d) %s", t.Comm, t.PID, percent(t.share)))
	}
	return text
}

func percent(share float64) string { return fmt.Sprintf("%.*f %%", decimals(share), share*100) }

// decimals returns two digits after the point for a small share and none for a large one.
func decimals(share float64) int {
	if share < 0.1 {
		return 1
	}
	return 0
}
