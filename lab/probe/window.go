package probe

import (
	"errors"
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/results"
)

// A Window measures what the processes of a server do between two times, and who else uses
// the CPUs of the run. Its methods are called in this order: Open, Begin, Tick any number of
// times, End, and then those that return figures. It is not safe for concurrent use.
type Window struct {
	server     []int  // its processes; none if they are not observed
	usage      *Usage // nil: not measured
	pressured  bool   // the kernel reports pressure
	begin, end edge
	others     time.Duration // CPU time of other processes from Open to End
	visible    bool          // others is known

	last       UsageReading  // of Usage
	lastOthers time.Duration // used by others until then
}

// An edge holds the readings at one end of the window.
type edge struct {
	process  results.Process
	gone     error // why process could not be read
	usage    UsageReading
	pressure time.Duration
	at       time.Time
}

// NewWindow returns a window over the processes of a server on this machine, or of none. The
// caller must call Close.
func NewWindow(server []int) *Window {
	_, err := ReadPressure()
	return &Window{server: server, pressured: err == nil}
}

// Open begins to measure the usage of cpus, which are those of both sides. pids are the
// processes of the run other than the server's and the calling one: the generator and what
// helps it. Without Open, the usage of CPUs is unknown.
func (w *Window) Open(cpus []int, pids ...int) (err error) {
	w.usage, err = OpenUsage(cpus, append(pids, w.server...)...)
	return err
}

// Opened reports whether the usage of CPUs is measured.
func (w *Window) Opened() bool { return w.usage != nil }

// Add adds processes of the run, after Open; those already known are ignored.
func (w *Window) Add(pids ...int) error { return w.usage.Add(pids...) }

// Close releases all resources.
func (w *Window) Close() {
	if w.usage != nil {
		w.usage.Close()
	}
}

// Begin reads the counters at the start of the window. That the server's processes have ended
// is not an error; Gone returns it.
func (w *Window) Begin() (err error) {
	w.begin, err = w.read()
	return err
}

// End reads the counters at the end of the window, as Begin does at its start.
func (w *Window) End() (err error) {
	if w.end, err = w.read(); err != nil || w.usage == nil {
		return err
	}
	w.others, w.visible, err = w.usage.Others()
	return err
}

func (w *Window) read() (e edge, err error) {
	e.at = time.Now()
	if len(w.server) > 0 {
		e.process, e.gone = ReadProcess(w.server)
	}
	if w.usage != nil {
		if e.usage, err = w.usage.Read(); err != nil {
			return e, fmt.Errorf("read the usage of the CPUs: %w", err)
		}
	}
	if w.pressured {
		e.pressure, err = ReadPressure()
	}
	return e, err
}

// Tick reads the memory of the server's processes into m, whose peak it keeps. If they have
// ended, it returns an error and leaves m unchanged.
func (w *Window) Tick(m *results.Memory) error {
	now, err := ReadMemory(w.server)
	if err != nil {
		return err
	}
	m.RSSPeakBytes = max(m.RSSPeakBytes, now.RSSPeakBytes)
	m.RSSFinalBytes, m.VSSBytes = now.RSSFinalBytes, now.VSSBytes
	return nil
}

// Gone returns the error of reading the server's counters at the start or the end of the
// window, nil if they are known. Its processes may have ended.
func (w *Window) Gone() error { return errors.Join(w.begin.gone, w.end.gone) }

// Process returns what the server's processes did within the window: threads and descriptors
// at its end, and the rest since its start. It is meaningless if Gone returns an error.
func (w *Window) Process() results.Process { return Since(w.end.process, w.begin.process) }

// Usage returns the shares of the CPUs' time since its last call, 0 to 1, that the hypervisor took, and
// that processes outside of the run used; known is false at its first call. It reads a file for each
// process of the machine.
func (w *Window) Usage() (steal, foreign float64, known bool, err error) {
	now, err := w.usage.Read()
	if err != nil {
		return 0, 0, false, fmt.Errorf("read the usage of the CPUs: %w", err)
	}
	others, visible, err := w.usage.Others()
	if err != nil {
		return 0, 0, false, err
	}
	before, used := w.last, others-min(others, w.lastOthers)
	w.last, w.lastOthers = now, others
	total := now.Seconds(before)
	if before.at.IsZero() || total <= 0 {
		return 0, 0, false, nil
	}
	if foreign = now.Foreign(before); visible {
		foreign = min(foreign, used.Seconds()/total)
	}
	return now.Steal(before), foreign, true, nil
}

// Steal returns the share of the CPUs' time that the hypervisor took, 0 to 1.
func (w *Window) Steal() float64 { return w.end.usage.Steal(w.begin.usage) }

// Foreign returns the share of the CPUs' time, 0 to 1, that processes outside of the run used.
// The generator was ready to run for waited of the window's seconds, but had no CPU; 0 if
// that proves nothing, because other processes of the run may use its CPU. With many CPUs, the
// average hides a process that uses the generator's; its share of that one CPU is then
// returned. It cannot be more than what processes outside of the run used in total: a thread of
// the run that waits for its CPU to wake up, or for another thread of the run, is no disturbance.
func (w *Window) Foreign(waited, seconds float64) float64 {
	all, total := w.end.usage.Foreign(w.begin.usage), w.end.usage.Seconds(w.begin.usage)
	if w.visible && total > 0 {
		all = min(all, w.others.Seconds()/total)
	}
	own := min(waited, all*total) / max(seconds, 1e-3)
	return max(all, min(1, own))
}

// Pressure returns the share of the window, 0 to 1, in which some runnable task of the machine
// waited for a CPU; 0 if the kernel has no pressure stall information.
func (w *Window) Pressure() float64 {
	took := w.end.at.Sub(w.begin.at)
	if took <= 0 {
		return 0
	}
	return min(1, float64(w.end.pressure-w.begin.pressure)/float64(took))
}
