package command

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redline-go/redline/lab/load/fleet"
	"github.com/redline-go/redline/lab/load/fleet/bus"
	"github.com/redline-go/redline/lab/load/fleet/kube"
)

// The printed command joins a worker; a given token is not printed.
func TestOpenBus(t *testing.T) {
	for _, given := range []bool{false, true} {
		t.Setenv(kube.EnvRun, "")
		t.Setenv(kube.EnvToken, "")
		if given {
			t.Setenv(kube.EnvRun, "run")
			t.Setenv(kube.EnvToken, "a-token-of-this-test")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		a := busIdentity("")
		var line string
		coordinator, end, err := openBus(ctx, listenPrefix+"0.0.0.0:0", time.Minute, a, func(how string, told bool) {
			if line = how; told != given {
				t.Errorf("told: %v, given: %v", told, given)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(line, kube.EnvRun+"="+a.Run+" ") || strings.Contains(line, a.Token) == given || !strings.Contains(line, "redline worker --bus nats://THIS-MACHINE:") {
			t.Errorf("a worker is told %q", line)
		}
		w, err := bus.Worker(ctx, coordinator.Address(), bus.NewID())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if err := end(); err != nil {
			t.Error(err)
		}
		if _, err := bus.Worker(canceled(), coordinator.Address(), bus.NewID()); err == nil {
			t.Error("the server is still there")
		}
	}
}

// A worker that received the order to stop ends without an error, even if the server ends with
// the coordinator first.
func TestWorkerOutlivesItsServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	t.Setenv(kube.EnvIndex, "")
	t.Setenv(kube.EnvRun, "run")
	t.Setenv(kube.EnvToken, "a-token-of-this-test")
	coordinator, end, err := openBus(ctx, listenPrefix+"127.0.0.1:0", time.Minute, busIdentity(""), func(string, bool) {})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		w := Worker{bus: coordinator.Address().URL, wait: time.Minute}
		done <- w.Run(ctx)
	}()
	var id string
	for m := range coordinator.Inbox() {
		if m.Join != nil {
			id = m.From
			break
		}
	}
	if err := coordinator.Send(id, &fleet.Message{Stop: &fleet.Stop{}}); err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestCheckBusAddress(t *testing.T) {
	for where, ok := range map[string]bool{
		"nats://10.0.0.1:4222": true, "tls://h:1": true, "listen::4222": true, "listen:10.0.0.1:4222": true,
		"listen:": false, "listen:h": false, "10.0.0.1:4222": false, "http://h": false, "nats://": false,
	} {
		if err := checkBusAddress(where); (err == nil) != ok {
			t.Errorf("%s: %v", where, err)
		}
	}
	if err := checkBusAddress("http://user:secret@h"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

// openBus waits for an absent server as long as requested; the error names it.
func TestOpenBusNowhere(t *testing.T) {
	invited := false
	_, _, err := openBus(t.Context(), "nats://me:secret@127.0.0.1:1", 300*time.Millisecond, busIdentity(""), func(string, bool) { invited = true })
	if err == nil || invited || strings.Contains(err.Error(), "secret") {
		t.Fatalf("invited: %v, %v", invited, err)
	}
	for _, want := range []string{"connect to the NATS server at nats://127.0.0.1:1: ", "no connection within 300ms, see --wait"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %q", err, want)
		}
	}
}
