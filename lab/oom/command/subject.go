package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/redline-go/redline/lab/internal/child"
	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/oom"
	"github.com/redline-go/redline/lab/oom/group"
)

// subject is the server in its group.
type subject struct {
	child *child.Child
	group *group.Group // nil: there is none
	log   *group.Log   // nil: it cannot be read
	run   *oom.Run
}

// start starts the server in a group of its own, waits until it accepts connections, and sets the
// limit. If the server ended, the subject is one that has ended. The caller closes it.
func (v *verb) start(ctx context.Context, score *int) (s *subject, err error) {
	s = &subject{run: &oom.Run{Limit: v.group, GoLimit: v.goSize, ScoreAdj: score, Steps: []oom.Step{}, Signs: []oom.Sign{}, Members: []oom.Process{}, Samples: []oom.Sample{}}}
	defer func() {
		if err != nil {
			err, s = errors.Join(err, s.close()), nil
		}
	}()
	if v.goShare > 0 {
		s.run.GoLimit = int64(v.goShare * float64(v.group))
	}
	options := child.Options{Env: environment(s.run.GoLimit), Score: score}
	if v.NoGroup {
		err = below("twice --gomemlimit", stopAt(s.run.GoLimit))
	} else if err = s.enclose(v); err == nil {
		options.Groups = []string{s.group.Dir()}
	}
	if err != nil {
		return s, err
	}
	if err := child.Free(ctx, v.url); err != nil {
		return s, err
	}
	if s.child, err = child.Start(v.Command, options); err != nil {
		return s, err
	}
	if err := child.Listening(ctx, s.child.Done(), v.url); err != nil {
		if s.ended() {
			return s, nil
		}
		return s, err
	}
	return s, s.settle(v)
}

// enclose makes the group, with the limit, or one that protects the machine.
func (s *subject) enclose(v *verb) error {
	limit, err := ceiling()
	if err != nil {
		return err
	}
	if v.group > 0 {
		if err := below("a limit", v.group); err != nil {
			return err
		}
		limit = v.group
	}
	g, err := group.Plan()
	if err != nil {
		return errNoGroup(err)
	}
	if err := g.Make(v.guard); errors.Is(err, group.ErrNone) {
		return errNoGroup(err)
	} else if err != nil {
		return err
	}
	s.group, s.run.Group = g, fmt.Sprintf("v%d", g.Version())
	if err := s.limit(limit); err != nil {
		return err
	}
	if s.log, err = group.OpenLog(); err != nil {
		s.run.Missing = append(s.run.Missing, fmt.Sprintf("the kernel's log, which names the victims: %v", err))
	}
	return nil
}

// limit bounds the group.
func (s *subject) limit(bytes int64) error {
	unswapped, err := s.group.Limit(bytes)
	if unswapped != nil && len(s.run.Missing) == 0 {
		s.run.Missing = append(s.run.Missing, fmt.Sprintf("swap may be used: %v", unswapped))
	}
	return err
}

// settle reads the resident memory of the server that has started, and sets a limit that depends
// on it.
func (s *subject) settle(v *verb) error {
	for _, p := range s.members() {
		s.run.Start += p.RSS
	}
	if s.group == nil || v.group > 0 {
		return nil
	}
	s.run.Limit = max(int64(v.Headroom*float64(s.run.Start)), leastLimit)
	if err := below("the limit", s.run.Limit); err != nil {
		return err
	}
	return s.limit(s.run.Limit)
}

// members returns the processes of the server that live.
func (s *subject) members() []oom.Process {
	var pids []int
	if s.group != nil {
		pids, _ = s.group.Members() // it exists while the subject does; an error means no processes
	} else {
		pids, _ = procfs.Host.Tree(s.child.PID())
	}
	list := []oom.Process{}
	for _, pid := range pids {
		stat, err := procfs.Host.Stat(pid)
		if err != nil || stat.Dead() {
			continue // it has ended
		}
		p := oom.Process{PID: pid, Name: stat.Comm, Root: pid == s.child.PID()}
		if _, resident, err := procfs.Host.Memory(pid); err == nil {
			p.RSS = int64(resident)
		}
		p.Score, p.Adj = number(pid, "oom_score"), number(pid, "oom_score_adj")
		list = append(list, p)
	}
	return list
}

// number reads a file of a process; nil if it cannot be read.
func number(pid int, file string) *int {
	n, err := procfs.Host.Int("proc", fmt.Sprint(pid), file)
	if err != nil {
		return nil
	}
	return &n
}

// ended reports whether the process that was started has ended.
func (s *subject) ended() bool {
	select {
	case <-s.child.Done():
		return true
	default:
		return s.child.Ended()
	}
}

// close ends the server. The guard removes the group when it is closed.
func (s *subject) close() (err error) {
	if s.child != nil {
		err = s.child.Close()
	}
	if s.log != nil {
		err = errors.Join(err, s.log.Close())
	}
	return err
}
