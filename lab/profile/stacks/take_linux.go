package stacks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/profile/perfevent"
)

// Take takes a profile of processes during a window. If ctx or the last of the processes ends
// before the window does, the result is what was taken until then, with a note.
//
// The error is [ErrNoProcess], [ErrOtherUser], [ErrPermission], [ErrNoTracepoint] or of the
// kernel. Nothing remains in the processes or in the kernel afterwards.
func Take(ctx context.Context, o Options) (_ *Taken, err error) {
	if o, err = o.check(); err != nil {
		return nil, err
	}
	s := newSession(o)
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.attach(ctx); err != nil {
		return nil, fmt.Errorf("observe %s: %w", named(o.PIDs), err)
	}
	start := time.Now()
	if err := s.run(ctx); err != nil {
		return nil, fmt.Errorf("read the records: %w", err)
	}
	return s.result(start, time.Since(start)), nil
}

// named names processes in an error.
func named(pids []int) string {
	if len(pids) == 1 {
		return fmt.Sprintf("process %d", pids[0])
	}
	return fmt.Sprintf("%d processes", len(pids))
}

const (
	calm = 20 * time.Millisecond // between two readings of rings
	busy = 2 * time.Millisecond  // if they fill faster
	look = 200 * time.Millisecond
)

// run reads the rings until the window ends.
func (s *session) run(ctx context.Context) error {
	s.began = perfevent.Now()
	for _, e := range s.events {
		if err := e.Enable(); err != nil {
			return err
		}
	}
	end := time.NewTimer(s.opts.For)
	defer end.Stop()
	tick := time.NewTimer(calm)
	defer tick.Stop()
	var looked time.Time
	for {
		select {
		case <-end.C:
			return s.finish()
		case <-ctx.Done():
			s.note("The window was ended early: %v.", context.Cause(ctx))
			return s.finish()
		case now := <-tick.C:
			pause := calm
			if s.drain(perfevent.Now()) > 0.1 {
				pause = busy
			}
			tick.Reset(pause)
			if now.Sub(looked) < look {
				continue
			}
			looked = now
			if !s.alive() {
				s.note("The processes ended before the window did.")
				return s.finish()
			}
		}
	}
}

// finish stops the events and reads what is left.
func (s *session) finish() error {
	var errs []error
	for _, e := range s.events {
		errs = append(errs, e.Disable())
	}
	now := perfevent.Now()
	s.drain(^uint64(0))
	if s.waits != nil {
		s.waits.finish(s, now)
	}
	return errors.Join(errs...)
}

// alive reports whether one of the processes still runs, and notes those that do not.
func (s *session) alive() bool {
	some := false
	for pid, p := range s.processes {
		if p.ended {
			continue
		}
		st, err := procfs.Host.Stat(pid)
		p.ended = err != nil || st.Dead() || p.start != 0 && st.Start != p.start
		some = some || !p.ended
		if p.ended && slices.Contains(s.opts.PIDs, pid) && len(s.opts.PIDs) > 1 {
			s.note("Process %d ended before the window did.", pid)
		}
	}
	return some
}

// drain handles all records up to a time, in its order, and returns how full the fullest
// ring was. Later ones may have earlier ones in rings that were read before: they wait.
func (s *session) drain(until uint64) float64 {
	records, fullest := s.held, 0.0
	s.held = nil
	for _, r := range s.rings {
		fullest = max(fullest, r.Read(func(kind uint32, misc uint16, body []byte) {
			if rec, ok := perfevent.Parse(kind, misc, body, s.config); ok {
				records = append(records, rec)
			}
		}))
	}
	slices.SortStableFunc(records, func(a, b perfevent.Record) int { return cmp.Compare(a.Time, b.Time) })
	for i := range records {
		if records[i].Time <= until {
			s.handle(&records[i])
			continue
		}
		s.held = append(s.held, records[i].Clone())
	}
	return fullest
}

// handle counts one record.
func (s *session) handle(r *perfevent.Record) {
	switch r.Kind {
	case perfevent.RecordLost, perfevent.RecordLostSamples:
		s.lost += r.Lost
	case perfevent.RecordThrottle:
		s.throttled++
	case perfevent.RecordFork:
		s.forked(r)
	case perfevent.RecordComm:
		if p := s.processes[r.PID]; p != nil {
			p.name(r.TID, r.Name)
			if r.Exec {
				p.space = newSpace(r.PID)
			}
		}
	case perfevent.RecordMmap2:
		if p := s.processes[r.PID]; p != nil {
			p.space.add(mapping{start: r.Map.Start, end: r.Map.Start + r.Map.Size, offset: r.Map.Offset, inode: r.Map.Inode, path: r.Name})
		}
	case perfevent.RecordSwitch:
		if s.waits != nil {
			s.waits.returned(s, r)
		}
	case perfevent.RecordSample:
		s.sampled(r)
	}
}

// sampled counts a sample.
func (s *session) sampled(r *perfevent.Record) {
	from := s.sources[r.ID]
	if from.role == wakeups {
		s.waits.woken(s, r)
		return
	}
	p := s.processes[r.PID]
	// A thread may have inherited an event before it got its own.
	if p == nil || s.direct[r.TID] && from.task > 0 && from.task != r.TID {
		return
	}
	at := s.place(p, r)
	if from.role == switches {
		s.waits.left(r, at, from.config.Period)
		return
	}
	at.slice = s.slice(r.Time)
	s.samples.add(at, 1, int64(s.period))
}

// slice returns the part of the window that a time is in.
func (s *session) slice(at uint64) uint16 {
	if s.opts.Slices == 0 {
		return 0
	}
	passed := time.Duration(max(int64(at-s.began), 0))
	return uint16(min(int(passed*time.Duration(s.opts.Slices)/s.opts.For), s.opts.Slices-1)) + 1
}

// forked keeps account of new threads and children.
func (s *session) forked(r *perfevent.Record) {
	parent := s.processes[r.Parent]
	if r.PID == r.Parent {
		return
	}
	if parent == nil || !s.opts.Tree || len(s.processes) >= maxProcesses {
		return
	}
	child := &process{pid: r.PID, names: map[int]string{r.TID: parent.names[parent.pid]}, space: parent.space.child(r.PID)}
	s.processes[r.PID] = child
}
