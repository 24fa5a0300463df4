package gather

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/gomem"
	"github.com/redline-go/redline/lab/results"
	"github.com/redline-go/redline/lab/watch/bpf"
)

func TestTurn(t *testing.T) {
	sweep := func(rates ...float64) (list []diagnose.Point) {
		for i, r := range rates {
			list = append(list, diagnose.Point{Connections: 1 << i, Rate: r})
		}
		return list
	}
	for _, c := range []struct {
		sweep   []diagnose.Point
		ceiling float64
		knee    int
	}{
		{sweep(100, 200, 400, 800, 1600, 1700, 1650), 1700, 32},
		{sweep(100, 101, 99), 101, leastKnee},
		{sweep(10, 20, 40, 80, 160, 320, 640, 1280, 2560), 2560, 512},
		{sweep(0, 0), 0, leastKnee},
		{nil, 0, leastKnee},
	} {
		if ceiling, knee := turn(c.sweep); ceiling != c.ceiling || knee != c.knee {
			t.Errorf("%v: %v, %d; want %v, %d", c.sweep, ceiling, knee, c.ceiling, c.knee)
		}
	}
}

// A distribution with a step at 40 ms has two peaks.
func TestSteps(t *testing.T) {
	h := hdrhistogram.New(1, 1e11, 3)
	for i := range 1000 {
		v := int64(1e6 + 300*i)
		if i%5 == 0 {
			v = 41e6
		}
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	l, err := results.NewLatency(h)
	if err != nil {
		t.Fatal(err)
	}
	list := steps(&l)
	if len(list) != 2 || math.Abs(list[1].At-0.041) > 0.004 || math.Abs(list[1].Share-0.2) > 0.01 || list[0].At > 0.002 {
		t.Errorf("%+v", list)
	}
	if list := steps(&results.Latency{}); list != nil {
		t.Errorf("of nothing: %+v", list)
	}
}

func TestConvert(t *testing.T) {
	function := func(id uint64, name, file string) *profile.Function {
		return &profile.Function{ID: id, Name: name, Filename: file}
	}
	program, kernel := &profile.Mapping{ID: 1, File: "/srv/shop"}, &profile.Mapping{ID: 2, File: "[kernel]"}
	location := func(id uint64, m *profile.Mapping, list ...*profile.Function) *profile.Location {
		l := &profile.Location{ID: id, Mapping: m}
		for _, f := range list {
			l.Line = append(l.Line, profile.Line{Function: f, Line: 3})
		}
		return l
	}
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples"}, {Type: "cpu"}},
		Sample: []*profile.Sample{
			{
				Value: []int64{1, 2e9}, Label: map[string][]string{"state": {"waiting"}, "wait": {"chan receive"}},
				Location: []*profile.Location{
					location(1, kernel, function(1, "do_syscall_64", "")),
					location(2, program, function(2, "encoding/json.Marshal", "encode.go"), function(3, "example.com/shop/cart.Show", "cart.go")),
					location(3, program, function(4, "github.com/acme/mux.Serve", "")),
					location(4, program, function(5, "runtime.goexit", "")),
					location(5, program),
				},
			},
			{
				Value: []int64{1, 1e9}, Label: map[string][]string{"state": {"waiting"}, "wait": {gomem.WaitTimer}},
				Location: []*profile.Location{location(7, program, function(6, "example.com/shop/cart.Pause", "cart.go"))},
			},
			{Value: []int64{1, 0}, Location: []*profile.Location{location(6, program)}},
		},
	}
	s := newConverter(&diagnose.Server{Language: Go, Module: "example.com/shop", Command: "shop"}).stacks(p, "cpu", 1e-9)
	if s.Total != 3 || len(s.List) != 2 || s.List[0].State != "waiting" || s.List[0].Wait != "chan receive" || s.List[1].Wait != "timer" {
		t.Fatalf("%+v", s)
	}
	var kinds []diagnose.Kind
	for _, f := range s.List[0].Frames {
		kinds = append(kinds, f.Kind)
	}
	if want := []diagnose.Kind{diagnose.System, diagnose.Standard, diagnose.User, diagnose.Library, diagnose.Runtime, diagnose.User}; !slices.Equal(kinds, want) {
		t.Errorf("%v, want %v", kinds, want)
	}
	if f := s.List[0].Frames[2]; f.Func != "example.com/shop/cart.Show" || f.File != "cart.go" || f.Line != 3 {
		t.Errorf("%+v", f)
	}
}

// Code of other languages is told apart by its files.
func TestKinds(t *testing.T) {
	exe, lib, kernel := &profile.Mapping{File: "/usr/bin/node"}, &profile.Mapping{File: "/usr/lib/libc.so.6"}, &profile.Mapping{File: "[kernel]"}
	for _, c := range []struct {
		language, program string
		frame             diagnose.Frame
		mapping           *profile.Mapping
		want              diagnose.Kind
	}{
		{Node, "node", diagnose.Frame{Func: "v8::internal::Heap::Collect"}, exe, diagnose.Runtime},
		{Node, "node", diagnose.Frame{Func: "JS:*handle /srv/app/server.js:12"}, nil, diagnose.User},
		{Node, "node", diagnose.Frame{Func: "JS:*parse /srv/app/node_modules/x/i.js:1"}, nil, diagnose.Library},
		{Node, "node", diagnose.Frame{Func: "JS:*emit node:events:465"}, nil, diagnose.Standard},
		{Node, "node", diagnose.Frame{Func: "write"}, lib, diagnose.Library},
		{Nginx, "nginx", diagnose.Frame{Func: "ngx_http_process_request"}, &profile.Mapping{File: "/usr/sbin/nginx"}, diagnose.User},
		{Native, "srv", diagnose.Frame{Func: "tcp_sendmsg"}, kernel, diagnose.System},
	} {
		conv := newConverter(&diagnose.Server{Language: c.language, Command: c.program})
		if got := conv.kind(c.frame, c.mapping); got != c.want {
			t.Errorf("%s: %v, want %v", c.frame.Func, got, c.want)
		}
	}
}

func TestChosen(t *testing.T) {
	env := []byte("PATH=/bin\x00GOGC=50\x00SECRET=x\x00GODEBUG=gctrace=1\x00")
	if got := chosen(env); len(got) != 2 || got["GOGC"] != "50" || got["GODEBUG"] != "gctrace=1" {
		t.Errorf("%q", got)
	}
	text := "Limit                     Soft Limit           Hard Limit           Units\nMax open files            1024                 20000                files\n"
	if got := fileLimit(text); got != 1024 {
		t.Error(got)
	}
	if fileLimit("Max open files            unlimited unlimited files\n") != 0 || fileLimit("") != 0 {
		t.Error("a limit where there is none")
	}
	for program, want := range map[string]string{"node": Node, "python3.11": Python, "nginx": Nginx, "shop": Native} {
		if got := language(program); got != want {
			t.Errorf("%s: %s", program, got)
		}
	}
}

// A server that answers nothing right is still looked at, at the knee.
func TestLoads(t *testing.T) {
	list := loads([]diagnose.Point{{Connections: 1, Rate: 500}, {Connections: 2, Rate: 1000}})
	if len(list) != 3 || list[0].name != diagnose.Low || list[0].shape.Rate != 100 || list[1].shape.Rate != 500 || list[2].shape.Rate != 0 || list[2].shape.Connections != leastKnee {
		t.Errorf("%+v", list)
	}
	if list := loads([]diagnose.Point{{Connections: 1}}); len(list) != 1 || list[0].name != diagnose.Knee {
		t.Errorf("%+v", list)
	}
}

// The counts of a window are rates, and calls that failed have them by error.
func TestKernel(t *testing.T) {
	k := kernel(&bpf.Counts{
		Span: 2 * time.Second, Lookups: 3, Queries: 1,
		Calls:    map[string]bpf.Call{"accept4": {Calls: 100, Errors: 60}, "read": {Calls: 10, Moved: 4, Bytes: 400}},
		Failures: map[bpf.Failure]uint64{{Call: "accept4", Code: "EMFILE"}: 50, {Call: "accept4", Code: "ECONNABORTED"}: 10},
	})
	if a := k.Calls["accept4"]; a.Rate != 50 || a.Errors != 30 || len(a.Codes) != 2 || a.Codes["EMFILE"] != 25 || a.Codes["ECONNABORTED"] != 5 {
		t.Errorf("%+v", a)
	}
	if r := k.Calls["read"]; r.Bytes != 100 || r.Codes != nil || k.Lookups != 2 {
		t.Errorf("%+v, %v lookups", r, k.Lookups)
	}
}
