package fleet

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
)

func specs(t *testing.T, orders []Order) (list []spec.Spec) {
	t.Helper()
	for _, o := range orders {
		var s spec.Spec
		if err := json.Unmarshal(o.Spec, &s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func TestDivide(t *testing.T) {
	whole := spec.Spec{
		Addr: "127.0.0.1:80", Request: []byte("GET"), Connections: 8, Pipeline: 1, Window: time.Second, ConnectRate: 30,
		Sources: []string{"127.0.0.2-127.0.0.5"}, Slow: spec.Slow{Connections: 2, Read: 10},
		Arrivals: &arrive.Plan{Rate: 300, Stages: []arrive.Stage{{For: time.Second, Rate: 600}}, Poisson: true, Seed: 7},
	}
	orders, err := Divide(&whole, 3)
	if err != nil {
		t.Fatal(err)
	}
	var connections, slow int
	var rate, connect float64
	var sources []string
	var seeds []uint64
	for i, s := range specs(t, orders) {
		if !s.Member || s.Addr != whole.Addr || string(s.Request) != "GET" || s.Window != whole.Window {
			t.Errorf("worker %d: %+v", i, s)
		}
		if s.Arrivals.Stages[0].Rate != 200 || math.Abs(s.Arrivals.Phase-float64(i)/3) > 1e-9 || !s.Arrivals.Poisson {
			t.Errorf("worker %d: arrivals %+v", i, s.Arrivals)
		}
		if s.Slow.Connections == 0 && s.Slow != (spec.Slow{}) {
			t.Errorf("worker %d: all of its connections are slow: %+v", i, s.Slow)
		}
		connections, slow = connections+s.Connections, slow+s.Slow.Connections
		rate, connect = rate+s.Arrivals.Rate, connect+s.ConnectRate
		sources, seeds = append(sources, s.Sources...), append(seeds, s.Arrivals.Seed)
	}
	slices.Sort(sources)
	slices.Sort(seeds)
	if connections != 8 || slow != 2 || math.Abs(rate-300) > 1e-9 || math.Abs(connect-30) > 1e-9 || len(slices.Compact(seeds)) != 3 {
		t.Errorf("%d connections, %d slow, rates %v and %v, seeds %v", connections, slow, rate, connect, seeds)
	}
	if !slices.Equal(sources, []string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"}) {
		t.Errorf("sources %v", sources)
	}
	if whole.Arrivals.Rate != 300 || whole.Arrivals.Stages[0].Rate != 600 || whole.Member {
		t.Errorf("what was asked for has changed: %+v", whole)
	}
}

// The workers divide the users of one generator, without overlap.
func TestDivideOfUsers(t *testing.T) {
	whole := spec.Spec{Connections: 7, Scenario: &spec.Scenario{Name: "x.yaml", Text: []byte("targets: []"), Seed: 5}}
	orders, err := Divide(&whole, 3)
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	for i, s := range specs(t, orders) {
		if s.Scenario.First != next || s.Scenario.Users != 7 || s.Scenario.Seed != 5 || string(s.Scenario.Text) != "targets: []" {
			t.Errorf("worker %d: %+v, want the first user to be %d", i, s.Scenario, next)
		}
		next += s.Connections
	}
	if next != 7 || whole.Scenario.Users != 0 {
		t.Errorf("%d users; what was asked for: %+v", next, whole.Scenario)
	}
}

// The requests of all workers are as many as were asked for. In a closed loop each has what
// its connections have under way at least, if all together have.
func TestDivideOfRequests(t *testing.T) {
	for _, c := range []struct {
		requests    uint64
		connections int
		arrivals    *arrive.Plan
		want        []uint64
	}{
		{100, 4, nil, []uint64{50, 25, 25}},
		{4 * 16, 4, nil, []uint64{32, 16, 16}},
		{4*16 + 3, 4, nil, []uint64{33, 17, 17}},
		{7, 7, nil, []uint64{3, 2, 2}},
		{1 << 62, 4, nil, []uint64{1 << 61, 1 << 60, 1 << 60}},
		{100, 4, &arrive.Plan{Rate: 30}, []uint64{34, 33, 33}},
		{0, 4, nil, []uint64{0, 0, 0}},
	} {
		orders, err := Divide(&spec.Spec{Requests: c.requests, Connections: c.connections, Arrivals: c.arrivals}, 3)
		if err != nil {
			t.Fatal(err)
		}
		var sum uint64
		for i, s := range specs(t, orders) {
			if sum += s.Requests; s.Requests != c.want[i] {
				t.Errorf("%+v: worker %d has %d", c, i, s.Requests)
			}
		}
		if sum != c.requests {
			t.Errorf("%+v: %d in all", c, sum)
		}
	}
}

func TestDivideRefused(t *testing.T) {
	for _, s := range []spec.Spec{{Connections: 2}, {Connections: 5, Sources: []string{"x"}}} {
		if orders, err := Divide(&s, 3); err == nil {
			t.Errorf("%+v gives %v", s, orders)
		}
	}
}

// Subscribers keep their numbers, and one worker publishes.
func TestDivideCrowd(t *testing.T) {
	whole := spec.Spec{
		Addr: "127.0.0.1:80", Request: []byte("GET"), Connections: 8, Pipeline: 1, Window: time.Second,
		Listen: &spec.Subscribe{Format: spec.FormatEvents, Topics: 5, Churn: 30, Publish: &spec.Publish{Rate: 1}},
	}
	orders, err := Divide(&whole, 3)
	if err != nil {
		t.Fatal(err)
	}
	first, churn := 0, 0.0
	for i, s := range specs(t, orders) {
		if l := s.Listen; l.First != first || l.Topics != 5 || (l.Publish != nil) != (i == 0) {
			t.Errorf("worker %d: %+v, want the first to be %d", i, l, first)
		}
		first += s.Connections
		churn += s.Listen.Churn
	}
	if first != 8 || math.Abs(churn-30) > 1e-9 || whole.Listen.Publish == nil {
		t.Errorf("%d subscribers, churn %v", first, churn)
	}
}
