package suite

import (
	"reflect"
	"strconv"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

func planOf(seed uint64) []round {
	all := workloads()
	subjects := []*Subject{
		{Name: "a", role: roleBaseline},
		{Name: "a", role: roleTwin},
		{Name: "b", role: roleSubject},
		{Name: floorName, role: roleFloor, control: true},
	}
	p := newPlan(seed, subjects)
	var rounds []round
	for range 6 {
		rounds = append(rounds, p.next([]want{{workload: &all[0]}, {workload: &all[1]}})...)
	}
	return rounds
}

func TestPlan(t *testing.T) {
	rounds := planOf(1)
	if len(rounds) != 12 {
		t.Fatalf("%d rounds, want 6 blocks x 2 workloads", len(rounds))
	}
	orders := map[string]bool{}
	for _, r := range rounds {
		want := 4
		if r.workload.name == "json" {
			want = 3 // the floor does not encode
		}
		seen := map[string]bool{}
		order := ""
		for i, s := range r.steps {
			if s.order != i+1 || s.block != r.block {
				t.Errorf("step %+v at place %d of block %d", s, i+1, r.block)
			}
			seen[s.subject.label()] = true
			order += s.subject.label() + " "
		}
		if len(seen) != want {
			t.Errorf("block %d of %s holds %v", r.block, r.workload.name, seen)
		}
		orders[order] = true
	}
	if len(orders) < 4 {
		t.Errorf("12 rounds have only the orders %v", orders)
	}
}

func TestSamePlanFromSameSeed(t *testing.T) {
	if !reflect.DeepEqual(planOf(7), planOf(7)) {
		t.Error("two plans from one seed differ")
	}
	if reflect.DeepEqual(planOf(7), planOf(8)) {
		t.Error("plans from two seeds are alike")
	}
}
