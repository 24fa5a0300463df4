package kernel

import (
	"strconv"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/watch"
)

// process reads what is in stat, and finds out whether the process exists.
func (t *Target) process(r *watch.Reading) error {
	if err := t.look(r.At); err != nil {
		return err
	}
	n, score := 0, 0
	t.each(r, "stat", []string{"faults_minor", "faults_major", "processes"}, func(pid int, _ string) error {
		stat, err := t.fs.Stat(pid)
		if err == nil {
			n++
			r.Count("faults_minor", uint64(pid), float64(stat.MinorFaults))
			r.Count("faults_major", uint64(pid), float64(stat.MajorFaults))
		}
		return err
	})
	r.Set("processes", float64(n))
	if t.each(r, "oom_score", []string{"oom_score"}, func(_ int, id string) error {
		one, err := t.fs.Int("proc", id, "oom_score")
		score = max(score, one)
		return err
	}) {
		r.Set("oom_score", float64(score))
	}
	return nil
}

func (t *Target) memory(r *watch.Reading) error {
	var size, resident uint64
	if t.each(r, "statm", []string{"rss_bytes", "vss_bytes"}, func(pid int, _ string) error {
		s, res, err := t.fs.Memory(pid)
		size, resident = size+s, resident+res
		return err
	}) {
		r.Set("rss_bytes", float64(resident))
		r.Set("vss_bytes", float64(size))
	}
	return nil
}

// shared reads the memory with shared pages divided, for which the kernel walks all pages.
func (t *Target) shared(r *watch.Reading) error {
	var sum uint64
	if t.each(r, "smaps_rollup", []string{"pss_bytes"}, func(_ int, id string) error {
		lines, err := t.fs.Lines("proc", id, "smaps_rollup")
		sum += procfs.Number(lines, "Pss") << 10
		return err
	}) {
		r.Set("pss_bytes", float64(sum))
	}
	return nil
}

// threads reads the switches of each thread: the status of a process has those of its first
// thread only.
func (t *Target) threads(r *watch.Reading) error {
	n := 0
	figures := []string{"threads", "switches_voluntary", "switches_involuntary"}
	if t.each(r, "task", figures, func(pid int, id string) error {
		list, err := t.fs.Threads(pid)
		if err != nil {
			return err
		}
		for _, tid := range list {
			lines, err := t.fs.Lines("proc", id, "task", strconv.Itoa(tid), "status")
			if procfs.Gone(err) {
				continue // it has ended
			}
			if err != nil {
				return err
			}
			n++
			r.Count("switches_voluntary", uint64(tid), float64(procfs.Number(lines, "voluntary_ctxt_switches")))
			r.Count("switches_involuntary", uint64(tid), float64(procfs.Number(lines, "nonvoluntary_ctxt_switches")))
		}
		return nil
	}) {
		r.Set("threads", float64(n))
	}
	return nil
}

// ioFields are the lines of /proc/PID/io and their figures.
var ioFields = []struct{ line, figure string }{
	{"syscr", "syscalls_read"},
	{"syscw", "syscalls_write"},
	{"rchar", "io_read"},
	{"wchar", "io_written"},
	{"read_bytes", "disk_read"},
	{"write_bytes", "disk_written"},
}

func (t *Target) traffic(r *watch.Reading) error {
	var figures []string
	for _, f := range ioFields {
		figures = append(figures, f.figure)
	}
	t.each(r, "io", figures, func(pid int, id string) error {
		lines, err := t.fs.Lines("proc", id, "io")
		if err != nil {
			return err
		}
		for _, f := range ioFields {
			r.Count(f.figure, uint64(pid), float64(procfs.Number(lines, f.line)))
		}
		return nil
	})
	return nil
}
