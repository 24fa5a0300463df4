package bpf

import (
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// What a system call, and a message over TCP on loopback and back, cost more while this process or
// another one is watched.
func BenchmarkCost(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("eBPF needs root")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	near, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	far, err := ln.Accept()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _, _ = near.Close(), far.Close() }()
	block := make([]byte, 100)
	for _, watched := range []struct {
		name  string
		pid   int
		timed bool
	}{{"nothing", 0, false}, {"another", 1, false}, {"this", os.Getpid(), false}, {"this/timed", os.Getpid(), true}} {
		var s *Sampler
		if watched.pid != 0 {
			if s, err = Open(watched.pid, false); err != nil {
				b.Fatal(err)
			}
			if err := s.source.timed(watched.timed); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("call/"+watched.name, func(b *testing.B) {
			for b.Loop() {
				unix.Getppid()
			}
		})
		b.Run("message/"+watched.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := near.Write(block); err != nil {
					b.Fatal(err)
				}
				if _, err := far.Read(block); err != nil {
					b.Fatal(err)
				}
			}
		})
		if s != nil {
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
