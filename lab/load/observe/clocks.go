package observe

import (
	"fmt"
	"time"

	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/load/spec"
)

// serverClocks are the server's CPU clocks, read here for workers that are elsewhere.
type serverClocks struct {
	track *cputime.Track
	began time.Time // the load
}

// ReadClocks begins to read the CPU clocks of the server's processes, for workers that
// cannot, as they are not where it is. stop ends that.
func (o *Observer) ReadClocks(pids []int, every time.Duration) (stop func(), err error) {
	track, err := cputime.Follow(pids, every)
	if err != nil {
		return nil, err
	}
	o.clocks = &serverClocks{track: track}
	return track.Stop, nil
}

// LoadBegins says when the workers' load begins: what ReadClocks reads counts from there.
func (o *Observer) LoadBegins(at time.Time) {
	if o.clocks != nil {
		o.clocks.began = at
	}
}

// AddServerCPU adds the server's CPU to a tick of workers that do not know it. It ends so
// many seconds after the load began.
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

// AddServerWindow adds it to the result of a window that began so long after the load;
// nil: there is none.
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

// unseen gives the server up that is watched beside workers of other machines. Their
// run goes on: what they measure does not depend on it.
func (o *Observer) unseen(err error) {
	o.clocks, o.doc.Server = nil, nil
	o.doc.Notes = append(o.doc.Notes, fmt.Sprintf("the server's CPU and memory are left out: %v", err))
}

// after is the time so many seconds after the load began.
func (o *Observer) after(seconds float64) time.Time {
	return o.clocks.began.Add(time.Duration(seconds * float64(time.Second)))
}
