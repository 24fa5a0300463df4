package gather

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/internal/procfs"
)

// What a process used before the window does not count, nor what another one with its number did.
func TestUsed(t *testing.T) {
	before := map[int]procfs.Stat{1: {Ticks: 100}, 2: {Ticks: 50, Start: 1}, 4: {Ticks: 9}}
	after := map[int]procfs.Stat{1: {Comm: "a", Ticks: 200, Children: 30}, 2: {Comm: "b", Ticks: 40, Start: 9}, 3: {Comm: "c", Ticks: 20, Children: 5}, 4: {Ticks: 9}}
	got := used(before, after, 2)
	if len(got) != 3 || got[1] != (usage{"a", 0.5}) || got[2] != (usage{"b", 0.2}) || got[3] != (usage{"c", 0.1}) {
		t.Errorf("%+v", got)
	}
	if in := within(map[int]procfs.Stat{2: {Parent: 1}, 3: {Parent: 2}, 4: {Parent: 9}}, []int{1}); len(in) != 3 || in[4] {
		t.Errorf("%v", in)
	}
	if d := delayed(map[int]time.Duration{1: time.Second, 2: time.Second}, map[int]time.Duration{1: 3 * time.Second, 3: time.Second}); d != 3 {
		t.Error(d)
	}
}

// Backends are divided from others, and neither is the server itself or the command.
func TestSharing(t *testing.T) {
	p := NewSharing(&diagnose.Server{PIDs: []int{os.Getpid()}, CPUs: 1})
	l := &diagnose.Load{Kernel: &diagnose.Kernel{Peers: []diagnose.Peer{{Addr: "no address"}, {Addr: "10.0.0.1:80"}, {Addr: "127.0.0.1:1"}}}}
	if err := p.Window(context.Background(), time.Millisecond, l); err != nil {
		t.Fatal(err)
	}
	p.used = map[int]usage{os.Getpid(): {"self", 1}, -1: {"loud", 0.5}, -2: {"quiet", 0.01}}
	if err := p.Conclude(l); err != nil {
		t.Fatal(err)
	}
	if s := l.Shared; s == nil || s.CPUs < 2 || s.Backends != 0 || len(s.Names) != 1 || s.Names[0] != "loud 0.50" {
		t.Errorf("%+v", s)
	}
	done, stop := context.WithCancel(context.Background())
	stop()
	if err := p.Window(done, time.Hour, l); err == nil {
		t.Error("no error of a window that was cut short")
	}
	if err := NewSharing(&diagnose.Server{PIDs: []int{os.Getpid()}}).Conclude(&diagnose.Load{}); err != nil {
		t.Error(err)
	}
}
