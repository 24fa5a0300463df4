package kernel

import (
	"fmt"

	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/watch"
)

// splitTicks is the number of clock ticks from which on user and system time are divided by
// them. A sample of 200 ms has 20 at most.
const splitTicks = 20

// cpu reads the CPU clocks. Their sum is exact; user and system time divide it in the
// proportion of the clock ticks, which are coarse.
type cpu struct {
	t         *Target
	clocks    *cputime.Processes
	last      cputime.Time // the last reading
	mark      cputime.Time // the reading from which ticks are counted
	user      float64      // share of user time
	userTotal float64      // seconds
	sysTotal  float64
	begun     bool
}

func openCPU(t *Target) (*sampler, error) {
	clocks, err := cputime.Open(t.pids)
	if err != nil {
		return nil, fmt.Errorf("read the CPU clock of process %d: %w", t.pid, err)
	}
	c := &cpu{t: t, clocks: clocks}
	return &sampler{name: "its CPU clock", read: c.read, end: func() error { clocks.Close(); return nil }}, nil
}

func (c *cpu) read(r *watch.Reading) error {
	if err := c.clocks.Add(c.t.pids); err != nil {
		return err
	}
	now, err := c.clocks.Read()
	if err != nil {
		return err
	}
	if !c.begun {
		c.begun, c.last, c.mark = true, now, now
		c.split(cputime.Time{}, now)
	}
	if now.User+now.Sys-c.mark.User-c.mark.Sys >= splitTicks {
		c.split(c.mark, now)
		c.mark = now
	}
	if now.Total > c.last.Total {
		used := float64(now.Total-c.last.Total) / 1e9
		c.last = now
		c.userTotal += used * c.user
		c.sysTotal += used * (1 - c.user)
	}
	r.Count("cpu_total", 0, float64(c.last.Total)/1e9)
	r.Count("cpu_user", 0, c.userTotal)
	r.Count("cpu_sys", 0, c.sysTotal)
	return nil
}

// split sets the share of user time. Rounding must not take it out of its bounds: a counter that
// becomes smaller counts as another one.
func (c *cpu) split(from, to cputime.Time) {
	if user, _, total := cputime.Split(from, to); total > 0 {
		c.user = max(0, min(1, user/total))
	}
}
