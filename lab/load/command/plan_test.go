package command

import (
	"reflect"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/load/spec"
)

// A plan has the resolved values; the flags remain as written.
func TestResolve(t *testing.T) {
	var flags Flags
	set := pflag.NewFlagSet("load", pflag.ContinueOnError)
	flags.Bind(set)
	if err := set.Parse([]string{"--stages=2s:100,3s:200", "--pprof=http://127.0.0.1:1/debug/pprof", "--profile=heap", "--profile-time=1h"}); err != nil {
		t.Fatal(err)
	}
	written := flags
	p, err := flags.resolve("http://127.0.0.1:1/", set.Changed)
	if err != nil {
		t.Fatal(err)
	}
	if p.duration != 5*time.Second || p.seed == 0 || p.runtime.Time != 4*time.Second || p.arrivals == nil || len(p.cpus) == 0 {
		t.Errorf("the plan is %+v", p)
	}
	if !reflect.DeepEqual(flags, written) || !reflect.DeepEqual(p.flags, written) {
		t.Errorf("the flags have changed: %+v", p.flags)
	}
}

// What is missing from an aborted run is said in what the run was to last: a time, or requests.
func TestProgress(t *testing.T) {
	r := &spec.Result{Seconds: 2.5, Requests: 40, Errors: map[string]uint64{"timeout": 2}}
	p := &plan{duration: time.Hour}
	for wanted, want := range map[uint64]string{0: "2.50 s of 3600 s", 100: "2.50 s, 42 of 100 requests"} {
		if got := p.progress(r, wanted); got != want {
			t.Errorf("%d wanted: %q, want %q", wanted, got, want)
		}
	}
}

// Without -c the connections of an open loop grow, in a search too. Users of a scenario do not, nor do
// connections of workers whose limits are unknown.
func TestMostConnections(t *testing.T) {
	for _, c := range []struct {
		flags []string
		grows bool
	}{
		{[]string{"--rate=5"}, true},
		{[]string{"--find=p99<1s"}, true},
		{[]string{"--rate=5", "--workers=2"}, true},
		{[]string{"--rate=5", "--http2", "--streams=2"}, true},
		{[]string{"--rate=5", "--http2", "--streams=16"}, false},
		{[]string{"--rate=5", "--connections=64"}, false},
		{[]string{"--rate=5", "--workers=2", "--bus=nats://127.0.0.1:1"}, false},
		{nil, false},
	} {
		var flags Flags
		set := pflag.NewFlagSet("load", pflag.ContinueOnError)
		flags.Bind(set)
		if err := set.Parse(c.flags); err != nil {
			t.Fatal(err)
		}
		p, err := flags.resolve("http://127.0.0.1:1/", set.Changed)
		if err != nil {
			t.Fatal(err)
		}
		open := p.arrivals != nil || flags.find != ""
		if most := p.most(open); (most > flags.connections) != c.grows || most*max(flags.protocol.streams, 1) > mostConnections {
			t.Errorf("%v: %d connections at most", c.flags, most)
		}
	}
}
