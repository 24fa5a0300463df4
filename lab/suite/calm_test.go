package suite

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/results"
)

// TestLookout waits for other processes as long as that helps. A run takes ten looks.
func TestLookout(t *testing.T) {
	const run = 10
	always := func(int) float64 { return 0.3 }
	bursts := func(look int) float64 { return map[bool]float64{true: 1}[look%100 < 30] } // 3 s of each 10 s
	short := func(look int) float64 { return map[bool]float64{true: 1}[look%5 < 2] }     // 0.2 s of each 0.5 s
	for name, c := range map[string]struct {
		busy   func(look int) float64
		runs   int // one after the other
		left   time.Duration
		waited time.Duration
		said   int
	}{
		"calm":              {func(int) float64 { return 0.1 }, 5, time.Minute, 0, 0},
		"a burst":           {bursts, 1, time.Minute, 3 * time.Second, 1},
		"after the burst":   {bursts, 6, time.Minute, 3 * time.Second, 1},
		"ten bursts":        {bursts, 70, time.Minute, 23700 * time.Millisecond, 10},
		"patience ends":     {bursts, 70, 4 * time.Second, 4 * time.Second, 2},
		"no patience":       {bursts, 20, 0, 0, 0},
		"all the time":      {always, 50, time.Minute, mostFruitless * mostWait, mostFruitless},
		"calm is too short": {short, 50, time.Minute, 600 * time.Millisecond, mostFruitless},
		"calm again":        {func(look int) float64 { return map[bool]float64{true: 1}[look < 1000 || look%100 < 30] }, 130, time.Minute, 48200 * time.Millisecond, 11},
	} {
		look, said := 0, 0
		l := lookout{left: c.left, busy: func(context.Context) (float64, error) {
			look++
			return c.busy(look - 1), nil
		}}
		for range c.runs {
			if err := l.wait(t.Context(), func(float64) { said++ }); err != nil {
				t.Fatal(err)
			}
			met := false
			for range run {
				met = met || c.busy(look) > 0.1
				look++
			}
			l.learn(met)
		}
		if l.waited != c.waited || said != c.said || l.left != c.left-c.waited {
			t.Errorf("%s: waited %v, said %d times, %v left; want %v and %d", name, l.waited, said, l.left, c.waited, c.said)
		}
	}
	broken := errors.New("broken")
	l := lookout{busy: func(context.Context) (float64, error) { return 0, broken }}
	if err := l.wait(t.Context(), nil); err != broken {
		t.Error(err)
	}
}

// TestDelicate waits only before runs whose main metric other processes spoil.
func TestDelicate(t *testing.T) {
	b := &bench{cfg: Config{Connections: 4}}
	for name, want := range map[string]bool{
		"plaintext": false, "pipeline16": false, "idle": false, "upload1m": false,
		"at25": true, "half": true, "rate20k": true, "stream": true, "mixed-300us": true,
	} {
		if got := b.delicate(findWorkload(name)); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestInUse reads how much of the CPUs is in use.
func TestInUse(t *testing.T) {
	b := &bench{cfg: configOf(t, "good")}
	if got, err := b.inUse(t.Context()); err != nil || got < 0 || got > 1 {
		t.Error(got, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.inUse(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestPatience is what a budget leaves, or an eighth.
func TestPatience(t *testing.T) {
	for budget, want := range map[time.Duration]time.Duration{0: 10 * time.Second, 40 * time.Second: 5 * time.Second, 100 * time.Second: 20 * time.Second} {
		b := &bench{cfg: Config{Budget: budget, Window: 500 * time.Millisecond, Warmup: 250 * time.Millisecond}, total: 80}
		if b.patience(); b.lookout.left != want {
			t.Errorf("%v: %v, want %v", budget, b.lookout.left, want)
		}
	}
}

// TestPaceWithoutWaits expects the runs to come to take as long as those so far, but not to wait as long.
func TestPaceWithoutWaits(t *testing.T) {
	b := &bench{began: time.Now().Add(-2 * time.Hour), done: 10}
	b.lookout.waited = 110 * time.Minute
	if got := b.pace(); got < time.Minute || got > 2*time.Minute {
		t.Errorf("%v, want a minute", got)
	}
}

// TestWaitsAreNoted records what waiting took.
func TestWaitsAreNoted(t *testing.T) {
	b := &bench{file: &results.File{}, tell: func(Step) {}}
	b.lookout.waited = 400 * time.Millisecond
	if b.noteWaits(); len(b.file.Notes) != 0 {
		t.Error(b.file.Notes)
	}
	b.lookout.waited = 2600 * time.Millisecond
	if b.noteWaits(); len(b.file.Notes) != 1 || b.file.Notes[0] != "runs were delayed by 3s in total, until other processes left the CPUs alone" {
		t.Error(b.file.Notes)
	}
}
