package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"testing"
	"time"
)

// patience bounds every wait.
const patience = 30 * time.Second

// workerEnv in its environment makes the test binary a worker.
const workerEnv = "REDLINE_TEST_WORKER"

func TestMain(m *testing.M) {
	switch os.Getenv(workerEnv) {
	case "":
		os.Exit(m.Run())
	case "crash":
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(3)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 4*patience)
	defer cancel()
	w := Worker{Index: -1, Generate: script, Silence: patience}
	if err := w.Work(ctx, Pipe(ctx, os.Stdin, os.Stdout)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// orders are those of script, the generator of the tests: ticks of a second with 10 requests
// each, emitted at once. Offsets between clocks are negligible compared with a second.
type orders struct {
	Ticks int
	Then  string // "": a result; else see script
}

func script(ctx context.Context, order json.RawMessage, emit func(json.RawMessage)) error {
	var o orders
	if err := json.Unmarshal(order, &o); err != nil {
		return err
	}
	if o.Then == "refuse" {
		return errors.New("connection refused")
	}
	emit(json.RawMessage(`{"connected":true}`))
	emit(json.RawMessage(`{"window":true}`))
	for i := range o.Ticks {
		emit(json.RawMessage(fmt.Sprintf(`{"tick":{"t":%g,"seconds":1,"requests":10,"errors":1}}`, float64(i+1))))
	}
	switch o.Then {
	case "hang":
		<-ctx.Done()
		return ctx.Err()
	case "cut":
		<-ctx.Done()
	case "garble":
		emit(json.RawMessage(`{"tick":`))
	case "fail":
		emit(json.RawMessage(`{"error":"too many open files"}`))
		return errors.New("too many open files")
	}
	emit(json.RawMessage(fmt.Sprintf(`{"result":{"seconds":%g,"requests":%d,"errors":{"status":%d}}}`, float64(o.Ticks), 10*o.Ticks, o.Ticks)))
	return nil
}

// plan returns a plan with one order per worker.
func plan(t *testing.T, list ...orders) Plan {
	t.Helper()
	shares, err := Split(Load{Workers: len(list), Connections: len(list)})
	if err != nil {
		t.Fatal(err)
	}
	p := Plan{Window: 100 * time.Second, Tick: 10 * time.Second, Join: patience, Ready: patience, Silence: patience, Run: patience, Cut: patience}
	for i, s := range shares {
		order, err := json.Marshal(list[i])
		if err != nil {
			t.Fatal(err)
		}
		p.Orders = append(p.Orders, Order{Share: s, Spec: order})
	}
	return p
}

// processes starts workers that do not outlive the test.
func processes(t *testing.T, n int, mode string) *Processes {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := StartProcesses(n, func(int) *exec.Cmd {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), workerEnv+"="+mode)
		return cmd
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.patience = patience
	return p
}
