package bpf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/probe"
)

// clockHz is the rate of samples of each CPU. It is not a divisor of the rate of timers.
const clockHz = 99

// read implements source.
func (p *programs) read() (Counts, error) {
	c := Counts{At: time.Now(), Calls: map[string]Call{}, Failures: map[Failure]uint64{}}
	c.Span = c.At.Sub(p.began)
	var perCPU []totalsValue
	if err := p.collection.Maps["totals"].Lookup(uint32(0), &perCPU); err != nil {
		return c, fmt.Errorf("read the counters: %w", err)
	}
	for i := range perCPU {
		perCPU[i].add(&c, &p.table.names)
	}
	if err := p.readFailures(&c); err != nil {
		return c, err
	}
	var key peerKey
	var value peerValue
	peers := p.collection.Maps["peers"].Iterate()
	for peers.Next(&key, &value) {
		c.Peers = append(c.Peers, value.peer(key))
	}
	// An iteration is aborted if entries are removed, which they never are.
	if err := peers.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return c, fmt.Errorf("read the peers: %w", err)
	}
	slices.SortFunc(c.Peers, func(a, b Peer) int { return order(&a, &b) })
	if err := p.drain(); err != nil {
		return c, err
	}
	if p.symbols != nil {
		c.KernelCPU = map[string]float64{}
		for part, n := range p.samples {
			c.KernelCPU[part] = float64(n) / clockHz
		}
	}
	return c, nil
}

// readFailures adds the calls that failed.
func (p *programs) readFailures(c *Counts) error {
	var key uint32
	var n uint64
	entries := p.collection.Maps["failures"].Iterate()
	for entries.Next(&key, &n) {
		code := unix.Errno(key & 0xffff)
		name := unix.ErrnoName(code)
		if name == "" {
			name = strconv.Itoa(int(code))
		}
		c.Failures[Failure{p.table.names[key>>16&(mostSlots-1)], name}] += n
	}
	if err := entries.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return fmt.Errorf("read the calls that failed: %w", err)
	}
	return nil
}

// kernelCPU samples the stacks of the kernel.
type kernelCPU struct {
	ring    *ringbuf.Reader
	record  ringbuf.Record
	reading chan named // the functions of the kernel are being read; nil: no more
	symbols *symbols
	samples map[string]uint64 // by part
}

// named is the result of reading the functions.
type named struct {
	symbols *symbols
	err     error
}

// name reads the functions of the kernel, which takes some 100 ms, beside all else.
func (k *kernelCPU) name() {
	k.reading = make(chan named, 1)
	go func(done chan<- named) {
		file, err := os.Open("/proc/kallsyms")
		if err != nil {
			done <- named{nil, err}
			return
		}
		s, err := readSymbols(file)
		done <- named{s, errors.Join(err, file.Close())}
	}(k.reading)
}

// startClock attaches the program of the clock to each CPU.
func (p *programs) startClock() error {
	online, err := procfs.Host.Text("sys", "devices", "system", "cpu", "online")
	if err != nil {
		return err
	}
	cpus, err := probe.ParseCPUs(online)
	if err != nil {
		return err
	}
	attr := unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: clockHz, Bits: unix.PerfBitFreq,
	}
	for _, cpu := range cpus {
		fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return fmt.Errorf("open the clock of CPU %d: %w", cpu, err)
		}
		p.closers = append(p.closers, closer(func() error { return unix.Close(fd) }))
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, p.collection.Programs["clock"].FD()); err != nil {
			return fmt.Errorf("attach to the clock of CPU %d: %w", cpu, err)
		}
	}
	ring, err := ringbuf.NewReader(p.collection.Maps["stacks"])
	if err != nil {
		return fmt.Errorf("open the ring of stacks: %w", err)
	}
	p.closers = append(p.closers, ring)
	p.samples, p.ring = map[string]uint64{}, ring
	p.name()
	return nil
}

// drain takes the stacks from the ring, as many as it can hold at most.
func (p *programs) drain() error {
	if p.reading != nil {
		select {
		case done := <-p.reading:
			p.reading, p.symbols = nil, done.symbols
			if done.err != nil {
				p.symbols = nil
				p.absent = append(p.absent, absent{"read the functions of the kernel: " + done.err.Error(), []string{"kernel_cpu{part}"}})
			}
		default:
		}
	}
	if p.symbols == nil {
		return nil // the ring keeps the stacks
	}
	p.ring.SetDeadline(time.Unix(1, 0)) // take what is there, never wait
	for range p.ring.BufferSize()/(8*stackDepth) + 1 {
		err := p.ring.ReadInto(&p.record)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the ring of stacks: %w", err)
		}
		p.samples[p.symbols.part(frames(p.record.RawSample))]++
	}
	return nil
}
