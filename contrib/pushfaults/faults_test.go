package pushfaults

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

var full = flag.Bool("full", false, "1,000 honest clients, whole attacks, and a table of delays and memory")

// Roles of the processes that a test starts: the variable has the order for them.
const (
	serviceVariable  = "PUSHFAULTS_SERVICE"
	attackerVariable = "PUSHFAULTS_ATTACKER"
)

func TestMain(m *testing.M) {
	for name, play := range map[string]func(*order){serviceVariable: playService, attackerVariable: playAttacker} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		var o order
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			fatal(err)
		}
		play(&o)
		os.Exit(0)
	}
	flag.Parse()
	os.Exit(m.Run())
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// An order is what a process is started with.
type order struct {
	Attack, Host string
	Clients      int
	Full         bool
	MaxBytes     int64
	Resident     int64  // what the service may have resident; 0: no bound
	At, Position string // for the attacker: where the service is, and the last place of its order
}

const (
	hostUring = "io_uring"
	hostEpoll = "epoll"
	hostPlain = "net/http"
)

// TestAttacks: beside an attack no honest client is ended and none misses an event, one that resumes gets what it
// has missed, and the service holds no more than it may. With -full it prints how long events take and how much
// memory is resident, in calm and under the attack.
func TestAttacks(t *testing.T) {
	var table []string
	for i := range attacks {
		a := &attacks[i]
		t.Run(a.name, func(t *testing.T) {
			for _, host := range []string{hostUring, hostEpoll, hostPlain} {
				t.Run(host, func(t *testing.T) {
					table = append(table, a.run(t, host)...)
				})
			}
		})
	}
	if *full {
		t.Logf("delays in milliseconds, resident memory in MiB\n%s\n%s", header, strings.Join(table, "\n"))
	}
}

var header = row("attack", "host", "clients", "calm p99", "p99", "max", "resume max", "before", "calm", "peak", "bound", "calm CPU", "CPU", "ended", "lost")

func row(cells ...any) string {
	var b strings.Builder
	for i, c := range cells {
		width := 10
		if i == 0 {
			width = 22
		}
		fmt.Fprintf(&b, "%-*v ", width, c)
	}
	return b.String()
}

// How long a phase of -full lasts, and how often an event is published in it.
const (
	phase = 6 * time.Second
	every = 100 * time.Millisecond
)

// run has the clients of an attack at a service on a host, and returns the rows of the table.
func (a *attack) run(t *testing.T, host string) []string {
	o := order{Attack: a.name, Host: host, Clients: a.short, MaxBytes: 16 << 20, Full: *full}
	honest := 40
	if *full {
		o.Clients, o.MaxBytes, honest = a.long, 32<<20, 1000
	}
	if a.memory > 0 {
		o.MaxBytes = a.memory
	}
	each := int64(1 << 10)
	if host == hostPlain {
		each += plainBytes
	}
	if *full {
		o.Resident = o.MaxBytes + int64(honest+max(o.Clients, workers))*each + 16<<20
	}
	s := startService(t, o)
	c := newCrowd(t, a, s, honest)
	before := s.state()
	f := &figures{s: s, idle: s.idle}
	used := s.cpu()
	c.publish(f, nil)
	f.inCalm, f.calmUntil, f.cpuCalm = f.most, s.published, s.cpu()-used

	o.At, o.Position = s.at, before.Position
	attacker := startAttacker(t, o)
	used = s.cpu()
	c.publish(f, attacker)
	f.cpu = s.cpu() - used
	under := s.state()
	failed := attacker.end()
	if failed > 0 {
		t.Errorf("%d clients of the attacker did not get what is theirs", failed)
	}
	c.publish(nil, nil) // what was lost shows now
	ended, lost := c.check()

	most := o.MaxBytes + int64(under.Subscribers)*each + 16<<20
	if grown := under.Heap - before.Heap; grown > most {
		t.Errorf("the heap has grown by %d bytes, more than %d: %+v", grown, most, under)
	}
	if under.Bytes > o.MaxBytes {
		t.Errorf("%d bytes are counted, more than MaxBytes", under.Bytes)
	}
	if !*full {
		return nil
	}
	calm, attacked := c.delays(f)
	r := row(a.name, host, attacker.done, ms(calm.p99), ms(attacked.p99), ms(attacked.max), ms(c.slowest.Load()),
		mib(f.idle), mib(f.inCalm), mib(f.most), mib(o.Resident),
		percent(f.cpuCalm), percent(f.cpu), ended, lost)
	t.Logf("\n%s\n%s", header, r)
	return []string{r}
}

// plainBytes is what net/http needs for a connection: goroutines, and buffers of both directions.
const plainBytes = 36 << 10

func percent(cpu time.Duration) string {
	return fmt.Sprintf("%.0f%%", 100*cpu.Seconds()/phase.Seconds())
}

func ms(ns int64) string { return fmt.Sprintf("%.2f", float64(ns)/1e6) }
func mib(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }

// figures are what -full measures of a service.
type figures struct {
	s                  *service
	idle, inCalm, most int64         // resident bytes: without honest clients, in calm, and the most
	cpuCalm, cpu       time.Duration // in each phase
	calmUntil          int           // event
}

func (f *figures) look() { f.most = max(f.most, f.s.resident()) }

// A spread describes delays, in nanoseconds.
type spread struct{ p99, max int64 }

func newSpread(all []int64) spread {
	if len(all) == 0 {
		return spread{}
	}
	slices.Sort(all)
	return spread{all[len(all)*99/100], all[len(all)-1]}
}
