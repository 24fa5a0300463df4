package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/tally"
	"github.com/redline-go/redline/lab/results"
)

func histogram(t *testing.T, ns ...int64) (results.Latency, string) {
	t.Helper()
	h := tally.DeltaHistogram()
	for _, v := range ns {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	l, err := results.NewLatency(h)
	if err != nil {
		t.Fatal(err)
	}
	return l, l.Histogram
}

// room connects a coordinator and workers within a test.
type room struct {
	inbox   chan *Message
	workers []chan *Message
}

func (r *room) Inbox() <-chan *Message { return r.inbox }

func (r *room) Send(worker string, m *Message) error {
	i, err := strconv.Atoi(worker)
	if err == nil {
		m.Arrived = time.Now()
		r.workers[i] <- m
	}
	return err
}

// seat is a worker's connection to a room.
type seat struct {
	*room
	inbox chan *Message
}

func (s seat) Inbox() <-chan *Message { return s.inbox }

func (s seat) Send(m *Message) error {
	m.Arrived = time.Now()
	s.room.inbox <- m
	return nil
}

// outcome returns the outcome of workers with these results. A worker without a result has
// two answers, after 5 and 6 ns, and is lost.
func outcome(t *testing.T, list ...*spec.Result) *Outcome {
	t.Helper()
	const patience = time.Minute // longer than the slowest machine needs
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r := &room{inbox: make(chan *Message, 1000)}
	shares, err := Split(Load{Workers: len(list), Connections: len(list)})
	if err != nil {
		t.Fatal(err)
	}
	plan := Plan{Window: time.Second, Tick: 100 * time.Millisecond, Lead: time.Millisecond, Silence: patience}
	var ended sync.WaitGroup
	for i, result := range list {
		inbox := make(chan *Message, 1000)
		r.workers = append(r.workers, inbox)
		plan.Orders = append(plan.Orders, Order{Share: shares[i], Spec: []byte("{}")})
		w := Worker{ID: strconv.Itoa(i), Index: i, Silence: patience, Generate: func(_ context.Context, _ json.RawMessage, emit func(json.RawMessage)) error {
			return play(result, emit)
		}}
		ended.Go(func() {
			_ = w.Work(ctx, seat{r, inbox}) // a lost worker returns its generator's error
		})
	}
	o, err := Coordinate(ctx, r, plan)
	ended.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func play(result *spec.Result, emit func(json.RawMessage)) error {
	say := func(e spec.Event) error {
		b, err := json.Marshal(e)
		if err == nil {
			emit(b)
		}
		return err
	}
	err := errors.Join(say(spec.Event{Connected: true}), say(spec.Event{Window: true}))
	if result != nil {
		return errors.Join(err, say(spec.Event{Result: result}))
	}
	counts := tally.NewDelta()
	counts.Add(5, 1)
	counts.Add(6, 1)
	return errors.Join(err, say(spec.Event{Tick: &spec.Tick{T: 0.1, Seconds: 0.1, Requests: 2, Counts: counts.Take()}}), errors.New("out of cheese"))
}

// full sets every field of a value: numbers to n, strings to a histogram of n.
func full(t *testing.T, v reflect.Value, n int) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		full(t, v.Elem(), n)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Type.Kind() == reflect.String && !strings.HasSuffix(strings.Split(f.Tag.Get("json"), ",")[0], "hdr") {
				v.Field(i).SetString("name")
				continue
			}
			full(t, v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		full(t, v.Index(0), n)
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.ValueOf(map[string]string{"tag": "name"}))
			return
		}
		v.Set(reflect.ValueOf(map[string]uint64{"kind": uint64(n)}))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(n))
	case reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.String:
		_, text := histogram(t, int64(n))
		v.SetString(text)
	default:
		t.Fatalf("a %s", v.Type())
	}
}

// Merge handles every field of a result, also future ones: counts and distributions are
// those of both workers.
func TestMergeIsWhole(t *testing.T) {
	var one, two spec.Result
	full(t, reflect.ValueOf(&one).Elem(), 3)
	full(t, reflect.ValueOf(&two).Elem(), 4)
	sum, each, err := Merge(outcome(t, &one, &two))
	if err != nil {
		t.Fatal(err)
	}
	if len(each) != 2 || !reflect.DeepEqual(*each[0], one) || !reflect.DeepEqual(*each[1], two) {
		t.Errorf("the workers' results are %+v", each)
	}
	compare(t, "", reflect.ValueOf(*sum))
}

// notSums lists the fields that are not sums, with their expected values.
var notSums = map[string]float64{
	".Seconds": 4, ".WarmupSeconds": 4, ".Steal": 4, ".Foreign": 4, ".Waited": 4,
	".InFlight": 7,
	".Drift":    4, ".Bodies.Min": 3, ".Bodies.Max": 4,
	".Stalls.At": 3, ".Stalls.Seconds": 5, // any of 3 to 6 and 4 to 8
	".Stalled.Seconds": 7,
	".Silences.At":     4, ".Silences.Seconds": 2, // both
	".GeneratorCPU":   4,                                                // the whole time of one core, like both
	".Listen.Silence": 4, ".Listen.Connect": 4, ".Listen.Each": 25. / 7, // of 3 and 4 subscribers
	".ServerUser": 4, ".ServerSys": 4, ".ServerCPU": 4, // of the longer one
}

func compare(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			t.Errorf("%s is left out", name)
			return
		}
		compare(t, name, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			compare(t, name+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice:
		if name == ".Gone" { // the union of both
			if !reflect.DeepEqual(v.Interface(), []int{3, 4}) {
				t.Errorf("%s is %v", name, v)
			}
			return
		}
		if v.Len() != 1 {
			t.Errorf("%s has %d elements", name, v.Len())
			return
		}
		compare(t, name, v.Index(0))
	case reflect.Map:
		counts, _ := v.Interface().(map[string]uint64) // words are those of both
		for _, n := range counts {
			if n != 7 {
				t.Errorf("%s is %v", name, v)
			}
		}
		if v.Len() != 1 {
			t.Errorf("%s is %v", name, v)
		}
	case reflect.Bool:
		if !v.Bool() {
			t.Errorf("%s is false", name)
		}
	case reflect.Float64:
		if v.Float() != notSums[name] {
			t.Errorf("%s is %v, want %v", name, v, notSums[name])
		}
	case reflect.Uint64:
		if v.Uint() != 7 {
			t.Errorf("%s is %v", name, v)
		}
	case reflect.Int:
		if v.Int() != 7 {
			t.Errorf("%s is %v", name, v)
		}
	case reflect.String:
		if v.String() == "name" {
			return
		}
		if l, err := results.ParseLatency(v.String()); err != nil || l.Count != 2 {
			t.Errorf("%s: %v, %d samples", name, err, l.Count)
		}
	}
}

// The sum includes the reports of a lost worker.
func TestMergeLost(t *testing.T) {
	var one spec.Result
	full(t, reflect.ValueOf(&one).Elem(), 3)
	both, _ := histogram(t, 3, 5, 6)
	sum, each, err := Merge(outcome(t, &one, nil))
	if err != nil {
		t.Fatal(err)
	}
	if each[1] != nil || sum.Requests != 5 || sum.Histogram != both.Histogram || sum.Open.Due != 5 || sum.Open.Sent != 5 || sum.Open.Failed != 3 {
		t.Errorf("sum %+v, open %+v, each %v", sum, sum.Open, each)
	}
}

// Results of different scenarios cannot be merged.
func TestMergeTargets(t *testing.T) {
	var one, two spec.Result
	full(t, reflect.ValueOf(&one).Elem(), 3)
	full(t, reflect.ValueOf(&two).Elem(), 3)
	two.Targets[0].Name = "another"
	if _, _, err := Merge(outcome(t, &one, &two)); err == nil || !strings.Contains(err.Error(), `"another", where another worker has`) {
		t.Errorf("got %v", err)
	}
	two.Targets = nil
	if _, _, err := Merge(outcome(t, &one, &two)); err == nil || !strings.Contains(err.Error(), "0 targets") {
		t.Errorf("got %v", err)
	}
	if keys := slices.Sorted(maps.Keys(one.Targets[0].Checks)); !slices.Equal(keys, []string{"kind"}) || one.Targets[0].Checks["kind"] != 3 {
		t.Errorf("the worker's own checks have changed: %v", one.Targets[0].Checks)
	}
}
