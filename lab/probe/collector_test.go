package probe

import (
	"errors"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/gomem"
)

func TestCollectorBetween(t *testing.T) {
	at := time.Unix(1000, 0)
	known := func(n int64) gomem.Value { return gomem.Value{N: n, Known: true} }
	begin := gomem.Figures{
		At: at, Cycles: known(10), PauseTotal: known(1_000_000),
		CPU: gomem.CPU{GC: known(1e9), Total: known(10e9), Idle: known(2e9)},
	}
	end := gomem.Figures{
		At: at.Add(2 * time.Second), Cycles: known(14), PauseTotal: known(1_400_000),
		CPU: gomem.CPU{GC: known(1_200_000_000), Total: known(12e9), Idle: known(2_500_000_000)},
	}
	c := between(&begin, &end)
	if c.Absent != "" || c.Cycles != 4 || c.PerSecond != 2 || *c.StoppedUsPerSecond != 200 || *c.StoppedUsPerCycle != 100 {
		t.Errorf("%+v", c)
	}
	if got := *c.CPURatio; got < 0.1333 || got > 0.1334 {
		t.Errorf("share of CPU time %v, want 0.2 of 1.5", got)
	}
	quiet := between(&begin, &gomem.Figures{At: end.At, Cycles: known(10), PauseTotal: gomem.Value{}, CPU: begin.CPU})
	if quiet.Cycles != 0 || quiet.StoppedUsPerSecond != nil || quiet.StoppedUsPerCycle != nil || quiet.CPURatio != nil {
		t.Errorf("without a cycle: %+v", quiet)
	}
	if c := between(&gomem.Figures{At: at}, &end); c.Absent == "" {
		t.Errorf("an unknown counter gave %+v", c)
	}
	if c := between(&end, &begin); c.Absent == "" {
		t.Errorf("a counter that went back gave %+v", c)
	}
	if c := OpenCollector(nil); c.Result().Absent == "" || c.Close() != nil {
		t.Error("a server without processes has figures")
	}
	var none *Collector
	none.Begin()
	none.End()
	if none.Result() != nil || none.Close() != nil {
		t.Error("no collector has figures")
	}
	gone := &Collector{absent: errors.New("gone")}
	gone.Begin()
	if gone.Result().Absent != "gone" {
		t.Error("the reason is lost")
	}
}
