package probe

import (
	"errors"
	"fmt"

	"github.com/redline-go/redline/lab/gomem"
	"github.com/redline-go/redline/lab/results"
)

// maxTried is how many processes of a server are looked at for a Go runtime.
const maxTried = 8

// Collector reads the garbage collector of a server from the memory of its process, at both ends
// of a window. The process is not changed, not stopped and not asked. A nil Collector reads
// nothing. It is not safe for concurrent use.
type Collector struct {
	process    *gomem.Process
	begin, end gomem.Figures
	absent     error // why there are no figures
}

// OpenCollector prepares to read the first of the processes that is Go's. If there is none, or it
// cannot be read, Result says why. The caller must call Close.
func OpenCollector(pids []int) *Collector {
	c := &Collector{absent: errors.New("the server has no process")}
	for _, pid := range pids[:min(len(pids), maxTried)] {
		if c.process, c.absent = gomem.Open(pid); c.absent == nil {
			break
		}
	}
	return c
}

// Begin reads the start of the window.
func (c *Collector) Begin() {
	if c != nil {
		c.read(&c.begin)
	}
}

// End reads the end of the window.
func (c *Collector) End() {
	if c != nil {
		c.read(&c.end)
	}
}

func (c *Collector) read(to *gomem.Figures) {
	if c.absent == nil {
		*to, c.absent = c.process.Read()
	}
}

// Result returns what the collector did in the window. A figure that could not be read is nil.
func (c *Collector) Result() *results.Collector {
	if c == nil {
		return nil
	}
	if c.absent != nil {
		return &results.Collector{Absent: c.absent.Error()}
	}
	return between(&c.begin, &c.end)
}

// Close releases the descriptors of the process.
func (c *Collector) Close() error {
	if c == nil || c.process == nil {
		return nil
	}
	if err := c.process.Close(); err != nil {
		return fmt.Errorf("close the memory of the server: %w", err)
	}
	return nil
}

// between subtracts two readings.
func between(begin, end *gomem.Figures) *results.Collector {
	seconds := end.At.Sub(begin.At).Seconds()
	cycles, ok := delta(begin.Cycles, end.Cycles)
	if !ok || seconds <= 0 {
		return &results.Collector{Absent: "the runtime has no known counter of cycles"}
	}
	out := &results.Collector{Cycles: uint64(cycles), PerSecond: cycles / seconds}
	if stopped, ok := delta(begin.PauseTotal, end.PauseTotal); ok {
		rate := stopped / 1e3 / seconds
		out.StoppedUsPerSecond = &rate
		if cycles > 0 {
			each := stopped / 1e3 / cycles
			out.StoppedUsPerCycle = &each
		}
	}
	spent, ok := delta(begin.CPU.GC, end.CPU.GC)
	total, known := delta(begin.CPU.Total, end.CPU.Total)
	idle, also := delta(begin.CPU.Idle, end.CPU.Idle)
	if busy := total - idle; ok && known && also && busy > 0 {
		share := min(spent/busy, 1)
		out.CPURatio = &share
	}
	return out
}

// delta subtracts counters; it is known if both are, and the counter has not gone back.
func delta(begin, end gomem.Value) (float64, bool) {
	from, ok := begin.Get()
	to, also := end.Get()
	return float64(to - from), ok && also && to >= from
}
