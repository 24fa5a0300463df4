package observe

import (
	"os"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/probe"
)

// Points say who else used the CPUs, if there is a generator on this machine.
func TestObserverUsage(t *testing.T) {
	cpus, err := probe.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	doc := &present.Document{}
	o := Begin(t.Context(), doc, nil, cpus, &Runtime{})
	defer o.Close()
	tick := func() *present.Point {
		if err := o.Event(spec.Event{Tick: &spec.Tick{Seconds: 0.2, Held: 0.25}}); err != nil {
			t.Fatal(err)
		}
		return &doc.Series[len(doc.Series)-1]
	}
	if p := tick(); p.Steal != nil || p.Foreign != nil || p.Held != 0.25 {
		t.Errorf("%+v", p)
	}
	if err := o.Event(spec.Event{PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	for range 600 {
		if p := tick(); p.Steal != nil {
			if *p.Steal < 0 || *p.Steal > 1 || p.Foreign == nil || *p.Foreign < 0 || *p.Foreign > 1 {
				t.Errorf("%+v", p)
			}
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Error("no reading in a minute")
}
