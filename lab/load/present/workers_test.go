package present

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/redline-go/redline/lab/load/spec"
)

// threeWorkers returns a run of three workers; the last one was lost.
func threeWorkers(t *testing.T, change func(i int, r *spec.Result)) *Document {
	t.Helper()
	d, r := closedRun(t)
	d = fill(t, d, r, "")
	var list []Worker
	for i := range 3 {
		w := Worker{Index: i, Host: "rack-7", PID: 100 + i, Connections: 22 - i, Seconds: 10, Requests: 6000, RequestsPerSecond: 600}
		_, part := closedRun(t)
		part.Sent, part.Answered = 7000, 7000
		if change != nil {
			change(i, part)
		}
		if i == 2 {
			w.Lost, w.Seconds, w.Requests = "worker 2 (process 102 on rack-7) was lost 5.00 s into the window of 10s: it stopped responding", 5, 3000
		} else if err := d.FillWorker(&w, part, 0); err != nil {
			t.Fatal(err)
		}
		list = append(list, w)
	}
	list[1].Host = "a-machine-with-a-long-name.example"
	d.AddWorkers(list, []string{list[2].Lost}, []string{"process 5 on x was refused: it asks for share 9 of 3"})
	return d
}

func TestSummaryWorkers(t *testing.T) {
	d := threeWorkers(t, nil)
	golden(t, "workers.txt", summaryOf(t, d))
	g := d.Gates[0]
	if d.Valid || g.Name != "workers" || g.Passed || g.Value != 2 || g.Limit != 3 || len(d.Failed()) != 1 {
		t.Errorf("valid %v, gates %+v", d.Valid, d.Gates)
	}
}

// Figures that a lost worker did not report are absent, not 0.
func TestLostWorker(t *testing.T) {
	var b bytes.Buffer
	if err := threeWorkers(t, nil).Encode(&b); err != nil {
		t.Fatal(err)
	}
	var d struct{ Workers []map[string]any }
	if err := json.Unmarshal(b.Bytes(), &d); err != nil || len(d.Workers) != 3 {
		t.Fatal(d.Workers, err)
	}
	for i, w := range d.Workers {
		for _, name := range []string{"sent", "answered", "cpu_utilisation", "requests"} {
			if _, there := w[name]; there != (i < 2 || name == "requests") {
				t.Errorf("worker %d: %s present: %v", i, name, there)
			}
		}
	}
}

// A gate that one worker fails is failed by the run; one that the sum also fails is reported
// once.
func TestWorkersGates(t *testing.T) {
	d := threeWorkers(t, func(i int, r *spec.Result) {
		if i == 1 {
			r.Steady = false
		}
	})
	failed := d.Failed()
	if len(failed) != 2 || failed[1].Name != "steady" || !strings.HasPrefix(failed[1].Text, "worker 1: the rate still had a trend") {
		t.Errorf("failed: %+v", failed)
	}
	d, r := closedRun(t)
	r.Steady = false
	d = fill(t, d, r, "")
	w := Worker{}
	if err := d.FillWorker(&w, r, 0); err != nil {
		t.Fatal(err)
	}
	if d.AddWorkers([]Worker{w}, nil, nil); len(d.Failed()) != 1 || !d.Gates[0].Passed {
		t.Errorf("failed: %+v", d.Failed())
	}
}
