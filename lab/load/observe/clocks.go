package observe

import (
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/load/spec"
)

// serverClocks are the server's CPU clocks, read here for workers on other machines.
type serverClocks struct {
	track *cputime.Track
	began time.Time // start of the load
}

// ReadClocks begins to read the CPU clocks of the server's processes, for workers on other
// machines, which cannot. The caller must call stop.
func (o *Observer) ReadClocks(pids []int, every time.Duration) (stop func(), err error) {
	track, err := cputime.Follow(pids, every)
	if err != nil {
		return nil, err
	}
	o.clocks = &serverClocks{track: track}
	return track.Stop, nil
}

// LoadBegins sets the time at which the workers' load begins, the origin of the times of
// AddServerCPU and AddServerWindow.
func (o *Observer) LoadBegins(at time.Time) {
	if o.clocks != nil {
		o.clocks.began = at
	}
}

// AddServerCPU adds the server's CPU usage to a tick of workers that do not know it. end is
// the end of the tick in seconds since the load began, seconds its length.
func (o *Observer) AddServerCPU(t *spec.Tick, end, seconds float64) {
	if o.clocks == nil {
		return
	}
	_, _, total, known, err := o.clocks.track.Between(o.after(end-seconds), o.after(end))
	if err != nil {
		o.unseen(err)
	} else if known > 0 {
		t.ServerCPU = total / known
	}
}

// AddServerWindow adds the server's CPU time to the result of a window that began warmup
// after the load. r may be nil.
func (o *Observer) AddServerWindow(r *spec.Result, warmup time.Duration) {
	if o.clocks == nil || r == nil {
		return
	}
	var err error
	from := o.after(warmup.Seconds())
	if r.ServerUser, r.ServerSys, r.ServerCPU, _, err = o.clocks.track.Between(from, from.Add(time.Duration(r.Seconds*1e9))); err != nil {
		o.unseen(err)
		return
	}
	r.Gone = o.clocks.track.Gone()
}

// unseen stops observing the server. The run of the workers on other machines continues:
// their measurements do not depend on it.
func (o *Observer) unseen(err error) {
	o.clocks, o.doc.Server = nil, nil
	o.doc.Notes = append(o.doc.Notes, fmt.Sprintf("the server's CPU and memory are left out: %v", err))
}

// after returns the time that is the given number of seconds after the load began.
func (o *Observer) after(seconds float64) time.Time {
	return o.clocks.began.Add(time.Duration(seconds * float64(time.Second)))
}
