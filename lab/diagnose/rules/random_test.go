package rules

import (
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/redline-go/redline/lab/diagnose"
	"github.com/redline-go/redline/lab/watch"
)

// ids are promised to users: scripts and the documentation refer to them.
var ids = []string{
	"gc-pressure", "unpooled-buffers", "json-reflection", "lock-contention", "goroutine-per-message", "channel-contention", "pool-too-small-db", "pool-too-small-http",
	"http-no-reuse", "dns-per-request", "tls-full-handshakes", "keepalive-off", "small-writes", "delayed-ack", "accept-queue", "descriptor-limit", "ephemeral-ports",
	"cpu-quota", "gomaxprocs-quota", "memory-limit", "gogc-thrash", "goroutine-leak", "descriptor-leak", "timer-leak", "memory-leak", "blocking-file", "blocking-cgo",
	"sync-logging", "regexp-compile", "template-parse", "context-timers", "panics-recovered", "retry-storm", "slow-downstream", "large-headers", "compression-level",
	"body-copy", "cpu-bound", "n-plus-one", "pinning", "swap", "generator-limit", "network-limit",
	"cpu-shared", "sleeping", "rate-limited", "disk-sync", "false-sharing",
}

func TestIDs(t *testing.T) {
	var got []string
	for _, r := range every() {
		got = append(got, r.id)
		if r.meaning == "" || r.needs == "" || r.estimate == "" {
			t.Errorf("%s lacks a part of its documentation", r.id)
		}
	}
	want := slices.Clone(ids)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
}

// Without evidence there is no finding.
func TestEmptyEvidence(t *testing.T) {
	for name, e := range map[string]*diagnose.Evidence{
		"nil": nil, "empty": {}, "empty load": {Loads: []diagnose.Load{{}}}, "empty knee": {Loads: []diagnose.Load{{Name: diagnose.Knee}}},
		"empty rest": {Rest: &diagnose.Rest{}}, "empty stacks": {Loads: []diagnose.Load{{OnCPU: &stacks{}, OffCPU: &stacks{}, Wall: &stacks{}, Allocs: &stacks{}, Kernel: &diagnose.Kernel{}, TLS: &diagnose.TLS{}}}},
	} {
		if c := Find(e); len(c) > 0 {
			t.Errorf("%s: %+v", name, c)
		}
		for _, r := range All() {
			if c := r.Find(e); c != nil {
				t.Errorf("%s: %s found %+v", name, r.ID(), c)
			}
		}
	}
}

// Random evidence, with numbers that are none, neither panics nor gives figures out of range.
func TestRandomEvidence(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	found := map[string]bool{}
	for range 600 {
		g := generator{rng: rng, wild: rng.IntN(3) == 0}
		for _, c := range Find(g.evidence()) {
			found[c.ID] = true
			for _, x := range []float64{c.Gain.CPU, c.Gain.Latency, c.Confidence} {
				if !(x >= 0 && x <= 1) {
					t.Fatalf("%s: %+v", c.ID, c)
				}
			}
			if !(c.Gain.Ceiling >= 0 && c.Gain.Ceiling <= mostCeiling) || c.Title == "" || len(c.Advice) < 2 || len(c.Evidence) == 0 {
				t.Fatalf("%s: %+v", c.ID, c)
			}
		}
	}
	if len(found) < len(ids)*3/4 {
		t.Errorf("only %d causes were found: the evidence is not varied enough", len(found))
	}
}

// generator makes evidence of any shape.
type generator struct {
	rng  *rand.Rand
	wild bool // with numbers that are none
}

func (g generator) number() float64 {
	if g.wild {
		switch g.rng.IntN(12) {
		case 0:
			return math.NaN()
		case 1:
			return math.Inf(1 - 2*g.rng.IntN(2))
		case 2:
			return -g.rng.Float64()
		}
	}
	switch g.rng.IntN(5) {
	case 0:
		return 0
	case 1:
		return g.rng.Float64()
	case 2:
		return 0.04
	case 3:
		return g.rng.Float64() * 100
	}
	return math.Exp(g.rng.Float64() * 20)
}

// fill sets the exported fields of a value that are numbers, strings and booleans.
func (g generator) fill(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Float64:
			f.SetFloat(g.number())
		case reflect.Int:
			f.SetInt(int64(g.rng.IntN(200)))
		case reflect.Bool:
			f.SetBool(g.rng.IntN(2) == 0)
		case reflect.Struct:
			if f.CanSet() {
				g.fill(f)
			}
		}
	}
}

func (g generator) figures() map[string]float64 {
	m := map[string]float64{}
	for _, f := range append(watch.Figures(), watch.Figure{Name: "go_timers"}) {
		if g.rng.IntN(2) == 0 {
			m[f.Name] = g.number()
		}
	}
	return m
}

// words are functions that rules know, and some that they do not.
var words = []string{
	"net/http.serverHandler.ServeHTTP", "main.(*shop).handle", "main.load", "runtime.mallocgc", "runtime.gcBgMarkWorker", "encoding/json.Marshal", "regexp.Compile", "html/template.(*Template).Parse",
	"compress/flate.(*compressor).deflate", "compress/flate.(*compressor).findMatch", "net/textproto.(*Reader).ReadMIMEHeader", "runtime.gopanic", "runtime.(*timers).run", "runtime.newproc", "runtime.stoplockedm",
	"sync.(*Mutex).lockSlow", "runtime.chansend", "database/sql.(*DB).conn", "net/http.(*Transport).getConn", "net/http.(*Transport).dialConn", "net.(*Resolver).lookupIPAddr", "net/http.(*persistConn).roundTrip",
	"os.(*File).Sync", "syscall.Flock", "log.(*Logger).output", "net.(*conn).Write", "crypto/tls.(*Conn).serverHandshake", "bytes.growSlice", "io.ReadAll", "time.Sleep", "net/http.(*connReader).Read",
	"tcp_v4_connect", "__inet_check_established", "try_to_free_mem_cgroup_pages", "internal/poll.(*FD).Write", "net/http.checkConnErrorWriter.Write", "",
}

func (g generator) stacks() *stacks {
	if g.rng.IntN(6) == 0 {
		return nil
	}
	s := &stacks{}
	waits := []string{"", "sync.Mutex.Lock", "chan receive", "chan send", "select", "IO wait", "sleep", "timer", "semacquire", "sync.WaitGroup.Wait"}
	states := []string{"", "running", "runnable", "syscall", "waiting", "waiting", "waiting"}
	for range g.rng.IntN(16) {
		k := stack{Weight: g.number(), State: states[g.rng.IntN(len(states))], Wait: waits[g.rng.IntN(len(waits))]}
		for range g.rng.IntN(5) {
			k.Frames = append(k.Frames, diagnose.Frame{Func: words[g.rng.IntN(len(words))], Kind: diagnose.Kind(g.rng.IntN(5)), Line: g.rng.IntN(3)})
		}
		s.List, s.Total = append(s.List, k), s.Total+k.Weight
	}
	return s
}

func (g generator) evidence() *diagnose.Evidence {
	e := &diagnose.Evidence{}
	g.fill(reflect.ValueOf(&e.Server).Elem())
	e.Server.Language = []string{"", "go", "node", "nginx"}[g.rng.IntN(4)]
	for range g.rng.IntN(4) {
		l := diagnose.Load{OnCPU: g.stacks(), OffCPU: g.stacks(), Wall: g.stacks(), Allocs: g.stacks()}
		g.fill(reflect.ValueOf(&l).Elem())
		l.Name = []string{diagnose.Low, diagnose.Half, diagnose.Knee}[g.rng.IntN(3)]
		l.Latency.Steps = []diagnose.Step{{At: g.number(), Share: g.number()}}
		if g.rng.IntN(2) == 0 {
			l.TLS = &diagnose.TLS{Handshakes: g.number(), Resumed: g.number()}
		}
		l.Watch = watch.Summary{Seconds: g.number(), Totals: g.figures(), Figures: map[string]watch.Range{}}
		medians := g.figures()
		for _, f := range slices.Sorted(maps.Keys(medians)) { // the same order with the same seed
			l.Watch.Figures[f] = watch.Range{Median: medians[f], Max: g.number()}
		}
		for range 10 {
			l.Samples = append(l.Samples, watch.Sample{Values: g.figures()})
		}
		if g.rng.IntN(3) > 0 {
			l.Kernel = g.kernel()
		}
		e.Loads = append(e.Loads, l)
	}
	if g.rng.IntN(2) == 0 {
		e.Rest = &diagnose.Rest{Answers: g.number(), Before: g.figures(), Later: g.figures(), Wall: g.stacks(), Collections: g.number()}
		if g.rng.IntN(2) == 0 {
			e.Rest.Again = &diagnose.Again{Answers: g.number(), Left: g.figures()}
		}
	}
	return e
}

func (g generator) kernel() *diagnose.Kernel {
	k := &diagnose.Kernel{Calls: map[string]diagnose.Syscall{}, Blocked: map[string]float64{"fsync": g.number()}}
	g.fill(reflect.ValueOf(k).Elem())
	for _, n := range []string{"write", "fsync", "connect", "flock", "sendto"} {
		c := diagnose.Syscall{Codes: map[string]float64{"EMFILE": g.number(), "EADDRNOTAVAIL": g.number()}}
		g.fill(reflect.ValueOf(&c).Elem())
		k.Calls[n] = c
	}
	for _, addr := range []string{"10.0.0.1:80", "10.0.0.2:53", ""} {
		p := diagnose.Peer{}
		g.fill(reflect.ValueOf(&p).Elem())
		p.Addr = addr
		k.Peers = append(k.Peers, p)
	}
	return k
}
