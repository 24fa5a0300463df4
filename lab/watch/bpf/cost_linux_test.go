package bpf

import (
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// linked returns both ends of a TCP connection over loopback, whose calls block.
func linked(b *testing.B) (near, far int) {
	b.Helper()
	socket := func() int {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		must(b, err)
		b.Cleanup(func() { _ = unix.Close(fd) })
		return fd
	}
	ln := socket()
	near = socket()
	must(b, unix.Bind(ln, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	must(b, unix.Listen(ln, 1))
	name, err := unix.Getsockname(ln)
	must(b, err)
	must(b, unix.Connect(near, name))
	must(b, unix.SetsockoptInt(near, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1))
	far, _, err = unix.Accept4(ln, unix.SOCK_CLOEXEC)
	must(b, err)
	b.Cleanup(func() { _ = unix.Close(far) })
	return near, far
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// watching is what watches during a slice of the benchmark.
type watching struct {
	name string
	pid  int  // 0: nothing
	all  bool // or between the windows
}

func watchings() []watching {
	return []watching{{"nothing", 0, false}, {"other-between", 1, false}, {"other-all", 1, true}, {"between", os.Getpid(), false}, {"all", os.Getpid(), true}}
}

// open opens a sampler for a slice; nil for none.
func (w watching) open(b *testing.B) *Sampler {
	b.Helper()
	if w.pid == 0 {
		return nil
	}
	s, err := Open(Options{PID: w.pid, Exact: true})
	must(b, err)
	if !w.all {
		must(b, s.source.observe(false))
	}
	return s
}

// slice is the number of calls between two readings of the clock.
const slice = 1000

// What a system call, and a message over TCP on loopback with its receipt, take of the thread's
// CPU time while this process or another one is watched: by all programs, or between the windows.
// The cases take turns, and the least of many slices counts, so other work on the machine matters
// little.
func BenchmarkCost(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("eBPF needs root")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	near, far := linked(b)
	block := make([]byte, 100)
	did := map[string]func(){
		"call": func() { unix.Getppid() },
		"message": func() {
			_, err := unix.Write(near, block)
			must(b, err)
			_, err = unix.Read(far, block)
			must(b, err)
		},
	}
	took := map[string][]float64{}
	for b.Loop() {
		for _, w := range watchings() {
			s := w.open(b)
			for name, f := range did {
				for range 20 {
					begin := threadTime(b)
					for range slice {
						f()
					}
					took[name+"/"+w.name] = append(took[name+"/"+w.name], float64(threadTime(b)-begin)/slice)
				}
			}
			if s != nil {
				must(b, s.Close())
			}
		}
	}
	for name, list := range took {
		b.ReportMetric(slices.Min(list), name+"-ns")
	}
}

func threadTime(b *testing.B) time.Duration {
	var now unix.Timespec
	must(b, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now))
	return time.Duration(now.Nano())
}

// The time in each program for a message, by the kernel's statistics, whose own cost is in it.
func BenchmarkPrograms(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("eBPF needs root")
	}
	near, far := linked(b)
	block := make([]byte, 100)
	for _, w := range watchings()[3:] {
		b.Run(w.name, func(b *testing.B) {
			s := w.open(b)
			defer func() { _ = s.Close() }()
			stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
			must(b, err)
			defer func() { _ = stats.Close() }()
			for b.Loop() {
				_, err := unix.Write(near, block)
				must(b, err)
				_, err = unix.Read(far, block)
				must(b, err)
			}
			for name, one := range s.source.(*programs).collection.Programs {
				st, err := one.Stats()
				must(b, err)
				if float64(st.RunCount) > 0.1*float64(b.N) {
					b.ReportMetric(float64(st.Runtime.Nanoseconds())/float64(st.RunCount), name+"-ns/run")
					b.ReportMetric(float64(st.RunCount)/float64(b.N), name+"-runs/op")
				}
			}
		})
	}
}
