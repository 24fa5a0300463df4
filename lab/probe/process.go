package probe

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/results"
)

// ErrNoProcess is the error of a reading if none of the processes is alive.
var ErrNoProcess = errors.New("none of the processes is alive")

// Tree returns pid and its living descendants, parents first; nil if there is no such
// process or no /proc.
func Tree(pid int) []int {
	tree, err := procfs.Host.Tree(pid)
	if err != nil {
		return nil
	}
	return tree
}

// ReadMemory reads the memory of the processes, summed: pages that they share count once
// for each. The peak is the sum of each process's own peak, so it is exact for one process
// and an upper bound for several. Processes that have ended are ignored; if none is left
// the error is [ErrNoProcess].
func ReadMemory(pids []int) (results.Memory, error) { return readMemory(procfs.Host, pids) }

func readMemory(fs procfs.FS, pids []int) (results.Memory, error) {
	var sum results.Memory
	err := each(pids, func(pid int) error {
		size, resident, err := fs.Memory(pid)
		if err != nil {
			return err
		}
		status, err := fs.Lines("proc", strconv.Itoa(pid), "status")
		if err != nil {
			return err
		}
		sum.VSSBytes += size
		sum.RSSFinalBytes += resident
		// The two files are read one after the other: memory may have grown in between.
		sum.RSSPeakBytes += max(resident, procfs.Number(status, "VmHWM")<<10)
		return nil
	})
	if err != nil {
		return results.Memory{}, fmt.Errorf("read memory: %w", err)
	}
	return sum, nil
}

// ReadProcess reads the kernel's counters for the processes since each started; see [Since]
// for a window. Context switches of threads that have ended are not included. Processes
// that have ended are ignored; if none is left the error is [ErrNoProcess].
func ReadProcess(pids []int) (results.Process, error) { return readProcess(procfs.Host, pids) }

func readProcess(fs procfs.FS, pids []int) (results.Process, error) {
	var sum results.Process
	err := each(pids, func(pid int) error {
		one, err := readOne(fs, pid)
		if err != nil {
			return err
		}
		sum.Processes++
		sum.Threads += one.Threads
		sum.OpenFiles += one.OpenFiles
		sum.Voluntary += one.Voluntary
		sum.Involuntary += one.Involuntary
		sum.MinorFaults += one.MinorFaults
		return nil
	})
	if err != nil {
		return results.Process{}, fmt.Errorf("read process: %w", err)
	}
	return sum, nil
}

func readOne(fs procfs.FS, pid int) (p results.Process, err error) {
	stat, err := fs.Stat(pid)
	if err != nil {
		return p, err
	}
	p.MinorFaults = stat.MinorFaults
	files, err := fs.Names("proc", strconv.Itoa(pid), "fd")
	if err != nil {
		return p, err
	}
	p.OpenFiles = len(files)
	threads, err := fs.Threads(pid)
	if err != nil {
		return p, err
	}
	for _, tid := range threads {
		lines, err := fs.Lines("proc", strconv.Itoa(pid), "task", strconv.Itoa(tid), "status")
		if procfs.Gone(err) {
			continue // a thread may end in the meantime
		}
		if err != nil {
			return p, err
		}
		p.Threads++
		p.Voluntary += procfs.Number(lines, "voluntary_ctxt_switches")
		p.Involuntary += procfs.Number(lines, "nonvoluntary_ctxt_switches")
	}
	return p, nil
}

// ReadCounts counts the threads and the open files of the processes: the part of
// [ReadProcess] that is cheap enough to read five times a second for any number of
// processes. Processes that have ended are ignored; if none is left the error is
// [ErrNoProcess].
func ReadCounts(pids []int) (threads, files int, err error) { return readCounts(procfs.Host, pids) }

func readCounts(fs procfs.FS, pids []int) (threads, files int, err error) {
	err = each(pids, func(pid int) error {
		status, err := fs.Lines("proc", strconv.Itoa(pid), "status")
		if err != nil {
			return err
		}
		n, err := fs.OpenFiles(pid)
		if err != nil {
			return err
		}
		threads += int(procfs.Number(status, "Threads"))
		files += n
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("count threads and files: %w", err)
	}
	return threads, files, nil
}

// each calls read for every process. A process that has ended is not an error while another
// one is alive.
func each(pids []int, read func(int) error) error {
	alive := false
	for _, pid := range pids {
		switch err := read(pid); {
		case err == nil:
			alive = true
		case !procfs.Gone(err):
			return err
		}
	}
	if !alive {
		return fmt.Errorf("%v: %w", pids, ErrNoProcess)
	}
	return nil
}

// Since returns what was counted between two readings, with processes, threads and files
// from the later one. A count that decreased, because a thread or process ended, is 0.
func Since(later, earlier results.Process) results.Process {
	less := func(a, b uint64) uint64 { return max(a, b) - b }
	later.Voluntary = less(later.Voluntary, earlier.Voluntary)
	later.Involuntary = less(later.Involuntary, earlier.Involuntary)
	later.MinorFaults = less(later.MinorFaults, earlier.MinorFaults)
	return later
}
