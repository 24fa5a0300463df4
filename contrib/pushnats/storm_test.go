package pushnats_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/redline-go/redline/contrib/pushnats"
	"github.com/redline-go/redline/push"
)

// TestReplayShared wants the clients of a node that has just started, which all ask for the same events,
// to cause few reads: not one for each event and client.
func TestReplayShared(t *testing.T) {
	const events, clients = 100, 50
	b := open(t, pushnats.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	span(t, b)
	for i := range events {
		put(t, b, "a", fmt.Sprint(i))
	}
	fresh := open(t, pushnats.Options{URL: b.URL()})
	last := span(t, fresh).Last
	// Each read is a request that the server answers.
	watcher, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Close)
	requests, err := watcher.SubscribeSync("$JS.API.STREAM.MSG.GET.>")
	if err == nil {
		err = requests.SetPendingLimits(-1, -1)
	}
	if err == nil {
		err = watcher.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for c := range uint64(clients) {
		all.Go(func() {
			want := c % 10 // clients are not all at the same place
			oldest, err := fresh.Replay(t.Context(), c%10, last, []string{"a"}, func(r push.Record) bool {
				if got := string(r.Event.Data); got != fmt.Sprint(want) {
					t.Errorf("got %s, want %d", got, want)
				}
				want++
				return true
			})
			if err != nil || oldest != 1 || want != events {
				t.Errorf("it has %d events; oldest %d, %v", want, oldest, err)
			}
		})
	}
	all.Wait()
	if err := watcher.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := requests.Pending(); err != nil || n < events || n > 2*events {
		t.Errorf("%d clients with %d events had %d messages read, %v", clients, events, n, err)
	}
}
