package cputime

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"
)

// The clocks of this very process go on while it works, and are read meanwhile.
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
