package arrive

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		rate   float64
		stages string
		window time.Duration
		want   string
	}{
		{0, "30s:1000,60s:5000", 90 * time.Second, "[{0s 30s 0 1000} {30s 1m30s 1000 5000}]"},
		{500, "30s:1000", 40 * time.Second, "[{0s 30s 500 1000} {30s 40s 1000 1000}]"},
		{0, "0s:100,10s:100,0s:200,10s:200", 20 * time.Second, "[{0s 10s 100 100} {10s 20s 200 200}]"},
		{0, "10s:100,10s:300,10s:0", 15 * time.Second, "[{0s 10s 0 100} {10s 15s 100 200}]"},
		{0, "10s:100,10s:300", 10 * time.Second, "[{0s 10s 0 100}]"},
		{7, "0s:9,1s:9", 0, "[]"},
	} {
		p := &Plan{Rate: c.rate}
		var err error
		if p.Stages, err = ParseStages(c.stages); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(p.Steps(c.window)); got != c.want {
			t.Errorf("%v from %v/s in %v: %s, want %s", c.stages, c.rate, c.window, got, c.want)
		}
	}
	if steps := (&Plan{Rate: 5}).Steps(time.Minute); steps != nil {
		t.Errorf("steps of an even plan: %v", steps)
	}
	if _, err := ParseStages(strings.Repeat("1s:5,", MaxStages) + "1s:5"); err == nil || !strings.Contains(err.Error(), "1001 stages: write at most 1000") {
		t.Errorf("too many stages: %v", err)
	}
}
