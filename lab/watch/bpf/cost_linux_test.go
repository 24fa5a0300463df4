package bpf

import (
	"net"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// linked returns both ends of a TCP connection over loopback.
func linked(b *testing.B) (near, far net.Conn) {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	if near, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		b.Fatal(err)
	}
	if far, err = ln.Accept(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

// exchange sends a message and receives it.
func exchange(b *testing.B, near, far net.Conn, block []byte) {
	if _, err := near.Write(block); err != nil {
		b.Fatal(err)
	}
	if _, err := far.Read(block); err != nil {
		b.Fatal(err)
	}
}

// attached opens a sampler for a benchmark.
func attached(b *testing.B, pid int, all bool) *Sampler {
	b.Helper()
	s, err := Open(Options{PID: pid, Exact: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	if !all {
		if err := s.source.observe(false); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// What a system call, and a message over TCP on loopback and back, cost more while this process or
// another one is watched: by all programs, or between the windows.
func BenchmarkCost(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("eBPF needs root")
	}
	block := make([]byte, 100)
	for _, watched := range []struct {
		name string
		pid  int
		all  bool
	}{{"nothing", 0, false}, {"another/between", 1, false}, {"another/all", 1, true}, {"this/between", os.Getpid(), false}, {"this/all", os.Getpid(), true}} {
		b.Run("call/"+watched.name, func(b *testing.B) {
			if watched.pid != 0 {
				attached(b, watched.pid, watched.all)
			}
			for b.Loop() {
				unix.Getppid()
			}
		})
		b.Run("message/"+watched.name, func(b *testing.B) {
			near, far := linked(b)
			if watched.pid != 0 {
				attached(b, watched.pid, watched.all)
			}
			for b.Loop() {
				exchange(b, near, far, block)
			}
		})
	}
}

// The time in each program for a message, by the kernel's statistics, whose own cost is in it.
func BenchmarkPrograms(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("eBPF needs root")
	}
	near, far := linked(b)
	s := attached(b, os.Getpid(), true)
	stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = stats.Close() }()
	block := make([]byte, 100)
	for b.Loop() {
		exchange(b, near, far, block)
	}
	for name, one := range s.source.(*programs).collection.Programs {
		st, err := one.Stats()
		if err != nil {
			b.Fatal(err)
		}
		if st.RunCount > 0 && float64(st.RunCount)/float64(b.N) > 0.01 {
			b.ReportMetric(float64(st.Runtime.Nanoseconds())/float64(st.RunCount), name+"-ns/run")
			b.ReportMetric(float64(st.RunCount)/float64(b.N), name+"-runs/op")
		}
	}
}
