package cputime

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"
)

// The clocks of this process advance while it works, and are read in the meantime.
func TestFollow(t *testing.T) {
	begin := time.Now()
	track, err := Follow([]int{os.Getpid()}, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer track.Stop()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		track.mu.Lock()
		n := len(track.points)
		track.mu.Unlock()
		if n >= 5 {
			break
		}
	}
	user, sys, total, known, err := track.Between(begin, time.Now())
	if err != nil || total <= 0 || known <= 0 || user+sys < total*0.999 || user+sys > total*1.001 {
		t.Errorf("user %v, sys %v, total %v of %v s, %v", user, sys, total, known, err)
	}
	track.mu.Lock()
	defer track.mu.Unlock()
	if len(track.points) < 5 {
		t.Errorf("%d readings", len(track.points))
	}
}

func TestFollowGone(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := Follow([]int{cmd.Process.Pid}, time.Second); !errors.Is(err, ErrGone) {
		t.Errorf("got %v", err)
	}
}

// TestAdd adds a process that began later, once, keeps its usage after its end, and ignores
// one that does not exist.
func TestAdd(t *testing.T) {
	p, err := Open([]int{os.Getpid()})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	for range 2 {
		if err := p.Add([]int{os.Getpid(), pid}); err != nil {
			t.Fatal(err)
		}
	}
	if len(p.list) != 2 {
		t.Errorf("%d processes are read, want 2", len(p.list))
	}
	before, err := p.Read()
	if err != nil || len(p.Gone()) > 0 {
		t.Fatal(err, p.Gone())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // that it was killed
	after, err := p.Read()
	if gone := p.Gone(); err != nil || len(gone) != 1 || gone[0] != pid || after.Total < before.Total {
		t.Errorf("%v are gone, %v after %v: %v", gone, after, before, err)
	}
	if err := p.Add([]int{pid}); err != nil || len(p.list) != 2 {
		t.Errorf("a process that has ended: %v, %d are read", err, len(p.list))
	}
}
