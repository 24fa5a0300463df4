package stacks

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/profile/perfevent"
)

// wide lets one event for each CPU observe CPU time, where that is allowed.
var wide = true

// maxEvents is how many events are opened for threads; beyond, it is one for each CPU.
var maxEvents = 4096

const (
	maxCPUs      = 4096
	maxProcesses = 10_000
	maxRounds    = 10 // of listing threads while new ones appear
)

// role says what an event is for.
type role int

const (
	clock role = iota
	switches
	wakeups
)

// source is what the records with an event's id come from.
type source struct {
	role   role
	task   int // thread, -1 for all of a CPU
	config perfevent.Config
}

// plan is an event that is opened for each thread and CPU.
type plan struct {
	role   role
	config perfevent.Config
	filter string
}

// session is one taking of a profile.
type session struct {
	opts      Options
	began     uint64         // the window, as records have the time
	period    uint64         // nanoseconds of CPU time, or waits
	periods   map[int]uint64 // waits, of threads that do not have 1
	plans     []plan
	events    []*perfevent.Event
	rings     map[int]*perfevent.Ring // by CPU
	sources   map[uint64]source       // by id of the event
	direct    map[int]bool            // threads with an event of their own
	processes map[int]*process
	files     *files
	samples   *samples
	waits     *waits // of Kind OffCPU
	held      []perfevent.Record
	lost      uint64
	throttled uint64
	cut       int64 // stacks that go on beyond what was recorded
	notes     []string
}

func newSession(o Options) *session {
	return &session{
		opts: o, rings: map[int]*perfevent.Ring{}, sources: map[uint64]source{}, direct: map[int]bool{},
		periods: map[int]uint64{}, processes: map[int]*process{}, files: newFiles(), samples: newSamples(),
	}
}

// note adds a sentence to the result, once.
func (s *session) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

func (s *session) config(id uint64) (perfevent.Config, bool) {
	from, ok := s.sources[id]
	return from.config, ok
}

// attach opens the events.
func (s *session) attach(ctx context.Context) error {
	if err := s.track(); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	cpus, err := online()
	if err != nil {
		return err
	}
	err = unix.EACCES
	if wide && s.opts.Kind == CPU {
		if err = s.attachCPUs(cpus); forbidden(err) {
			err = errors.Join(s.detach(), unix.EACCES)
		}
	}
	if forbidden(err) {
		err = s.attachTasks(cpus)
	}
	if errors.Is(err, unix.EACCES) && s.opts.Kind == CPU {
		// Everyone may see the own programs, and not the kernel.
		s.note("Neither frames nor time of the kernel are counted: it needs CAP_PERFMON, or the sysctl kernel.perf_event_paranoid at most 1.")
		s.plans[0].config.Kernel = false
		err = errors.Join(s.detach(), s.attachTasks(cpus))
	}
	if errors.Is(err, errMany) || errors.Is(err, unix.EMFILE) {
		err = errors.Join(s.detach(), s.attachCPUs(cpus))
	}
	if err == nil && s.opts.Kind == OffCPU {
		err = s.attachWakeups(cpus)
	}
	return s.explain(err)
}

// forbidden reports whether the kernel refuses an event for its scope.
func forbidden(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

// errMany says that there are too many threads for an event each.
var errMany = errors.New("too many threads")

// prepare decides which events are opened.
func (s *session) prepare(ctx context.Context) error {
	base := perfevent.Config{
		Inherit: true, Threads: !s.opts.Tree, Kernel: true,
		Stack: true, NoKernel: !s.opts.Kernel, Leaf: s.top(), Tasks: true,
	}
	if s.opts.Kind == CPU {
		s.period = 1e9 / uint64(s.opts.Hz)
		base.Type, base.Event, base.Period = perfevent.Software, perfevent.CPUClock, s.period
		s.plans = []plan{{role: clock, config: base}}
		return nil
	}
	leave, wake, err := tracepoints()
	if err != nil {
		return err
	}
	if err := s.thin(ctx); err != nil {
		return err
	}
	s.waits = newWaits(leave, wake)
	base.Type, base.Raw, base.Returns = perfevent.Tracepoint, true, true
	base.Event = leave.id
	// The bits above 255 say that the thread was preempted.
	s.plans = []plan{{switches, base, "prev_state & 255"}}
	return nil
}

// track finds the processes.
func (s *session) track() error {
	for _, pid := range s.opts.PIDs {
		st, err := procfs.Host.Stat(pid)
		if procfs.Gone(err) || err == nil && st.Dead() {
			return fmt.Errorf("process %d: %w", pid, ErrNoProcess)
		}
		if err != nil {
			return fmt.Errorf("find process %d: %w", pid, err)
		}
		if s.processes[pid] == nil {
			s.processes[pid] = newProcess(pid, st.Start)
		}
	}
	return s.grow()
}

// grow adds the descendants.
func (s *session) grow() error {
	if !s.opts.Tree {
		return nil
	}
	for _, pid := range s.opts.PIDs {
		tree, err := procfs.Host.Tree(pid)
		if err != nil {
			return fmt.Errorf("find the children of process %d: %w", pid, err)
		}
		for _, child := range tree {
			if s.processes[child] != nil || len(s.processes) >= maxProcesses {
				continue
			}
			if st, err := procfs.Host.Stat(child); err == nil {
				s.processes[child] = newProcess(child, st.Start)
			}
		}
	}
	return nil
}

// attachTasks opens the events of each thread, until no new threads appear.
func (s *session) attachTasks(cpus []int) error {
	for range maxRounds {
		if err := s.grow(); err != nil {
			return err
		}
		more := false
		for pid, p := range s.processes {
			tids, err := procfs.Host.Threads(pid)
			if procfs.Gone(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("list the threads of process %d: %w", pid, err)
			}
			for _, tid := range tids {
				if s.direct[tid] {
					continue
				}
				if (len(s.direct)+1)*len(cpus)*len(s.plans) > maxEvents {
					return errMany
				}
				p.readName(tid)
				if err := s.open(tid, cpus, s.plans...); err != nil && !errors.Is(err, unix.ESRCH) {
					return err
				}
				s.direct[tid], more = true, true
			}
		}
		if !more {
			break
		}
	}
	if len(s.events) == 0 {
		return ErrNoProcess
	}
	return nil
}

// attachCPUs opens the events of each CPU.
func (s *session) attachCPUs(cpus []int) error {
	for _, p := range s.processes {
		p.readName(p.pid)
	}
	plans := slices.Clone(s.plans)
	for i := range plans {
		plans[i].config.Inherit, plans[i].config.NoIdle = false, true
	}
	return s.open(-1, cpus, plans...)
}

// attachWakeups observes who is woken on all CPUs: the kernel tells it in the name of the task
// that wakes. A filter in the kernel leaves out the threads of others; threads that are created
// later are found when they run again.
func (s *session) attachWakeups(cpus []int) error {
	const most = 128 // threads in a filter, which is tried for each wake-up
	p := plan{role: wakeups, config: perfevent.Config{Type: perfevent.Tracepoint, Event: s.waits.wake.id, Period: 1, Kernel: true, Raw: true}}
	if len(s.direct) > 0 && len(s.direct) <= most && firstNamespace() {
		var terms []string
		for tid := range s.direct {
			if s.periodOf(tid) == 1 { // for the others, to see when they run again has to do
				terms = append(terms, fmt.Sprintf("pid == %d", tid))
			}
		}
		if len(terms) == 0 {
			return nil
		}
		p.filter = strings.Join(terms, " || ")
	}
	return s.open(-1, cpus, p)
}

// firstNamespace reports whether processes have the numbers here that the kernel's tracepoints
// tell.
func firstNamespace() bool {
	const inode = 0xEFFFFFFC // PROC_PID_INIT_INO
	name, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && name == fmt.Sprintf("pid:[%d]", uint32(inode))
}

// open opens events of a thread.
func (s *session) open(task int, cpus []int, plans ...plan) error {
	for _, cpu := range cpus {
		for _, plan := range plans {
			if plan.role == switches {
				plan.config.Period = s.periodOf(task)
			}
			e, err := perfevent.Open(plan.config, task, cpu)
			if errors.Is(err, unix.ENODEV) {
				break // the CPU was switched off
			}
			if err != nil {
				return err
			}
			s.events = append(s.events, e)
			s.sources[e.ID()] = source{plan.role, task, plan.config}
			if plan.filter != "" {
				if err := e.Filter(plan.filter); err != nil {
					return err
				}
			}
			if err := s.connect(e, cpu, len(cpus)); err != nil {
				return err
			}
		}
	}
	return nil
}

// connect gives the event its CPU's ring.
func (s *session) connect(e *perfevent.Event, cpu, cpus int) error {
	if r := s.rings[cpu]; r != nil {
		return r.Add(e)
	}
	size := 2 << 20
	if s.opts.Kind == OffCPU {
		size *= 2
	}
	if cpus > 64 {
		size /= 2
	}
	r, err := perfevent.NewRing(e, size)
	if err != nil {
		return err
	}
	s.rings[cpu] = r
	return nil
}

// detach closes the events and rings.
func (s *session) detach() error {
	var errs []error
	for _, r := range s.rings {
		errs = append(errs, r.Close())
	}
	for _, e := range s.events {
		errs = append(errs, e.Close())
	}
	clear(s.rings)
	clear(s.sources)
	clear(s.direct)
	s.events = nil
	return errors.Join(errs...)
}

func (s *session) close() error { return errors.Join(s.detach(), s.files.close()) }

// explain says why the kernel refuses.
func (s *session) explain(err error) error {
	if errors.Is(err, unix.ESRCH) {
		return ErrNoProcess
	}
	if !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
		return err
	}
	for pid := range s.processes {
		lines, readErr := procfs.Host.Lines("proc", strconv.Itoa(pid), "status")
		if readErr == nil && len(procfs.Value(lines, "Uid")) > 1 && procfs.Value(lines, "Uid")[1] != strconv.Itoa(os.Geteuid()) {
			return fmt.Errorf("process %d: %w (%w)", pid, ErrOtherUser, err)
		}
	}
	level, readErr := procfs.Host.Text("proc", "sys", "kernel", "perf_event_paranoid")
	if readErr != nil {
		level = "unknown"
	}
	return fmt.Errorf("%w: be root, have CAP_PERFMON, or lower the sysctl kernel.perf_event_paranoid, which is %s; a container may forbid perf_event_open: %w", ErrPermission, level, err)
}

// online lists the CPUs.
func online() ([]int, error) {
	text, err := procfs.Host.Text("sys", "devices", "system", "cpu", "online")
	if err != nil {
		return nil, fmt.Errorf("list the CPUs: %w", err)
	}
	var cpus []int
	for part := range strings.SplitSeq(text, ",") {
		from, to, ok := strings.Cut(part, "-")
		if !ok {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err := errors.Join(err1, err2); err != nil || first < 0 || last >= maxCPUs {
			return nil, fmt.Errorf("list the CPUs: %q is no range of CPUs", part)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
}
