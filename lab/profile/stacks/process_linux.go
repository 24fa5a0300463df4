package stacks

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/profile/symbols"
)

const (
	maxMaps  = 32 << 20 // bytes of /proc/PID/maps
	maxSpace = 65_536   // mappings of a process
	maxNames = 100_000  // threads of a process whose names are kept
	refresh  = 100 * time.Millisecond
)

// process is one that is observed.
type process struct {
	pid   int
	start uint64 // clock ticks from boot, 0 if it is not known
	ended bool
	names map[int]string // of threads
	space *space
}

func newProcess(pid int, start uint64) *process {
	return &process{pid: pid, start: start, names: map[int]string{}, space: newSpace(pid)}
}

func (p *process) name(tid int, name string) {
	if len(p.names) < maxNames {
		p.names[tid] = name
	}
}

// readName reads a thread's name.
func (p *process) readName(tid int) {
	if text, err := procfs.Host.Text("proc", strconv.Itoa(p.pid), "task", strconv.Itoa(tid), "comm"); err == nil {
		p.name(tid, text)
	}
}

// threadName returns the name of a thread; one that was never told has its creator's.
func (p *process) threadName(tid int) string {
	name, ok := p.names[tid]
	if !ok {
		p.readName(tid)
		if name, ok = p.names[tid]; !ok {
			name = p.names[p.pid]
			p.name(tid, name)
		}
	}
	return name
}

// space is the memory of a process from one start of a program to the next.
type space struct {
	pid    int
	maps   []mapping // by address
	loaded time.Time
	jit    *symbols.Map
	tried  bool   // to read jit
	number uint64 // of this space among all
	// problem is why there is no jit.
	problem error
}

// mapping is executable memory.
type mapping struct {
	start, end, offset uint64
	inode              uint64
	path               string
	program            *program
	opened             bool
}

// spaces counts them: each gets a number.
var spaces atomic.Uint64

func newSpace(pid int) *space { return &space{pid: pid, number: spaces.Add(1)} }

// child is the space of a process that was forked.
func (s *space) child(pid int) *space {
	c := newSpace(pid)
	c.maps, c.loaded = slices.Clone(s.maps), s.loaded
	return c
}

// add adds memory that replaces what was there.
func (s *space) add(m mapping) {
	if m.end <= m.start || len(s.maps) >= maxSpace {
		return
	}
	kept := s.maps[:0:0]
	for _, old := range s.maps {
		if old.end <= m.start || old.start >= m.end {
			kept = append(kept, old)
			continue
		}
		if old.start < m.start {
			left := old
			left.end = m.start
			kept = append(kept, left)
		}
		if old.end > m.end {
			right := old
			right.offset += m.end - old.start
			right.start = m.end
			kept = append(kept, right)
		}
	}
	at := sort.Search(len(kept), func(i int) bool { return kept[i].start > m.start })
	s.maps = slices.Insert(kept, at, m)
}

// find returns the mapping of an address, nil if there is none.
func (s *space) find(addr uint64) *mapping {
	if m := s.have(addr); m != nil {
		return m
	}
	if time.Since(s.loaded) < refresh {
		return nil
	}
	s.load()
	return s.have(addr)
}

func (s *space) have(addr uint64) *mapping {
	i := sort.Search(len(s.maps), func(i int) bool { return s.maps[i].start > addr }) - 1
	if i < 0 || addr >= s.maps[i].end {
		return nil
	}
	return &s.maps[i]
}

// load reads the mappings of the process.
func (s *space) load() {
	s.loaded = time.Now()
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(s.pid), "maps"))
	if err != nil {
		return // it has ended: what is known remains
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMaps))
	if err != nil || len(text) == 0 {
		return
	}
	var maps []mapping
	for line := range strings.Lines(string(text)) {
		m, ok := parseMapping(line)
		if !ok {
			continue
		}
		if len(maps) == maxSpace {
			break
		}
		if old := s.have(m.start); old != nil && old.start == m.start && old.inode == m.inode && old.offset == m.offset {
			m.program, m.opened = old.program, old.opened
		}
		maps = append(maps, m)
	}
	s.maps = maps
}

// parseMapping parses a line of /proc/PID/maps. It returns false for memory without code.
func parseMapping(line string) (m mapping, ok bool) {
	words := strings.Fields(line)
	if len(words) < 5 || len(words[1]) < 3 || words[1][2] != 'x' {
		return m, false
	}
	from, to, _ := strings.Cut(words[0], "-")
	var err error
	for _, x := range []struct {
		text string
		base int
		to   *uint64
	}{{from, 16, &m.start}, {to, 16, &m.end}, {words[2], 16, &m.offset}, {words[4], 10, &m.inode}} {
		if *x.to, err = strconv.ParseUint(x.text, x.base, 64); err != nil {
			return m, false
		}
	}
	// The path is the rest of the line, and may have spaces.
	rest := strings.TrimSuffix(line, "\n")
	for range 5 {
		rest = strings.TrimLeft(rest, " ")
		_, rest, _ = strings.Cut(rest, " ")
	}
	m.path = strings.TrimLeft(rest, " ")
	return m, m.end > m.start
}

// anonymous reports whether the mapping may have code that was compiled at run time.
func (m *mapping) anonymous() bool {
	return m.path == "" || strings.HasPrefix(m.path, "//anon") || strings.HasPrefix(m.path, "[anon") || m.path == "[heap]" || strings.HasPrefix(m.path, "/memfd:")
}
