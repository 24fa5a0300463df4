package handlers

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/profile/perfevent"
	"github.com/redline-go/redline/lab/profile/symbols"
	"github.com/redline-go/redline/lab/trace"
)

const (
	observed  = "net/http.HandlerFunc.ServeHTTP"
	ringSize  = 1 << 20
	mostCalls = 8 << 20
	mostNames = 4096
	each      = 10 * time.Millisecond // between two readings of the rings
)

// A Watch observes a process until it is stopped.
type Watch struct {
	pid    int
	events []*perfevent.Event
	rings  []*perfevent.Ring
	config perfevent.Config
	exe    *os.File
	memory *os.File
	file   *symbols.File
	base   uint64 // what is added to the addresses of the file

	seen  trace.Handlers
	names map[uint64]int32 // by value of the function, of one reading
	lost  uint64
	stop  chan struct{}
	done  chan struct{}
}

// Start begins to observe a process. The caller stops it.
func Start(pid int) (_ *Watch, err error) {
	w := &Watch{pid: pid, names: map[uint64]int32{}, stop: make(chan struct{}), done: make(chan struct{})}
	defer func() {
		if err == nil {
			return
		}
		err = fmt.Errorf("see the handlers of process %d: %w", pid, err)
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("%w; it needs root, or CAP_PERFMON and CAP_SYS_PTRACE", err)
		}
		err = errors.Join(err, w.close())
	}()
	if err := w.open(); err != nil {
		return nil, err
	}
	if err := w.attach(); err != nil {
		return nil, err
	}
	go w.run()
	return w, nil
}

// open opens the program and its memory.
func (w *Watch) open() (err error) {
	dir := filepath.Join("/proc", strconv.Itoa(w.pid))
	if w.exe, err = os.Open(filepath.Join(dir, "exe")); err != nil {
		return err
	}
	if w.memory, err = os.Open(filepath.Join(dir, "mem")); err != nil {
		return err
	}
	if w.file, err = symbols.Open(w.exe); err != nil {
		return err
	}
	offset, ok := w.file.GoFunction(observed)
	if !ok {
		return errors.New("it is no program of Go with the handlers of net/http")
	}
	kind, err := perfevent.ProbeType()
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("this kernel observes no functions of programs (CONFIG_UPROBE_EVENTS): %w", err)
	}
	if err != nil {
		return err
	}
	w.config = perfevent.Config{Type: kind, Period: 1, Path: w.exe.Name(), Offset: offset, Argument: true}
	return w.locate(offset)
}

// locate finds where the process has loaded the code.
func (w *Watch) locate(offset uint64) error {
	linked, ok := w.file.Address(offset)
	if !ok {
		return errors.New("its code is not in its file")
	}
	lines, err := procfs.Host.Lines("proc", strconv.Itoa(w.pid), "maps")
	if err != nil {
		return err
	}
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) < 3 || !strings.Contains(fields[1], "x") {
			continue
		}
		first, last, _ := strings.Cut(fields[0], "-")
		from, err1 := strconv.ParseUint(first, 16, 64)
		to, err2 := strconv.ParseUint(last, 16, 64)
		at, err3 := strconv.ParseUint(fields[2], 16, 64)
		if errors.Join(err1, err2, err3) == nil && offset >= at && offset-at < to-from {
			w.base = from + offset - at - linked // the program is the first of the mappings
			return nil
		}
	}
	return errors.New("its code is not in its memory")
}

// attach opens an event for each CPU. It is of all processes: one of a single task does not follow the
// threads that exist already. Other processes of the same program meet the breakpoint, too.
func (w *Watch) attach() error {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(w.pid, &set); err != nil {
		return fmt.Errorf("list its CPUs: %w", err)
	}
	for cpu := range len(set) * 64 {
		if !set.IsSet(cpu) {
			continue
		}
		e, err := perfevent.Open(w.config, -1, cpu)
		if err != nil {
			return err
		}
		w.events = append(w.events, e)
		r, err := perfevent.NewRing(e, ringSize)
		if err != nil {
			return err
		}
		w.rings = append(w.rings, r)
	}
	for _, e := range w.events {
		if err := e.Enable(); err != nil {
			return err
		}
	}
	return nil
}

// run reads the rings until the end.
func (w *Watch) run() {
	defer close(w.done)
	tick := time.NewTicker(each)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			w.read()
			return
		case <-tick.C:
			w.read()
		}
	}
}

func (w *Watch) read() {
	clear(w.names) // memory of a handler that was made for one request may be another one's now
	of := func(uint64) (perfevent.Config, bool) { return w.config, true }
	for _, r := range w.rings {
		r.Read(func(kind uint32, misc uint16, body []byte) {
			one, ok := perfevent.Parse(kind, misc, body, of)
			switch {
			case !ok:
			case kind == perfevent.RecordLost, kind == perfevent.RecordLostSamples:
				w.lost += one.Lost
			case kind != perfevent.RecordSample || one.PID != w.pid:
			case len(w.seen.List) >= mostCalls:
				w.lost++
			default:
				w.seen.List = append(w.seen.List, trace.Handled{Time: int64(one.Time), Thread: int32(one.TID), Name: w.name(one.Argument)})
			}
		})
	}
}

// name returns the index of the name of a function, by its value: that points to the address of its
// code, and to what it closes over.
func (w *Watch) name(value uint64) int32 {
	if i, ok := w.names[value]; ok {
		return i
	}
	i := int32(-1)
	var code [8]byte
	if _, err := w.memory.ReadAt(code[:], int64(value)); err == nil && value < 1<<63 {
		if frames := w.file.Lookup(binary.LittleEndian.Uint64(code[:]) - w.base); len(frames) > 0 {
			// The value of a method is a function of its own, which no stack shows.
			i = w.index(strings.TrimSuffix(frames[len(frames)-1].Name, "-fm"))
		}
	}
	if len(w.names) < mostNames {
		w.names[value] = i
	}
	return i
}

// index returns the place of a name in the list; -1 if that is full.
func (w *Watch) index(name string) int32 {
	if i := slices.Index(w.seen.Names, name); i >= 0 {
		return int32(i)
	}
	if len(w.seen.Names) >= mostNames {
		return -1
	}
	w.seen.Names = append(w.seen.Names, name)
	return int32(len(w.seen.Names) - 1)
}

// Stop ends the observation, and returns what was seen, in the order of time. lost are calls that
// were not kept.
func (w *Watch) Stop() (seen *trace.Handlers, lost uint64, err error) {
	var errs []error
	for _, e := range w.events {
		errs = append(errs, e.Disable())
	}
	close(w.stop)
	<-w.done
	slices.SortStableFunc(w.seen.List, func(a, b trace.Handled) int { return cmp.Compare(a.Time, b.Time) })
	return &w.seen, w.lost, errors.Join(append(errs, w.close())...)
}

// close releases what is open.
func (w *Watch) close() error {
	var errs []error
	for _, r := range w.rings {
		errs = append(errs, r.Close())
	}
	for _, e := range w.events {
		errs = append(errs, e.Close())
	}
	for _, f := range []*os.File{w.exe, w.memory} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
