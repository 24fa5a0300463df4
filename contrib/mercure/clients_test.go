package mercure

import (
	"context"
	"flag"
	"os/exec"
	"testing"
	"time"

	"github.com/redline-go/redline/push/pushtest"
)

var withClients = flag.Bool("clients", false, "have libraries for Node.js follow the endpoint; make clients installs them")

// TestClients has libraries that users of Mercure have follow private updates, with a token in the
// header or the cookie, while the endpoint ends their streams.
func TestClients(t *testing.T) {
	if !*withClients {
		t.Log("it needs Node.js and packages: make clients runs it")
		return
	}
	for _, library := range []string{"eventsource", "event-source-polyfill", "fetch-event-source"} {
		t.Run(library, func(t *testing.T) {
			serve(t, func(o *Options) {
				o.Push.Lifetime, o.Push.Heartbeat, o.Push.Retry = 500*time.Millisecond, 100*time.Millisecond, 50*time.Millisecond
			}, func(s *site) {
				subscriber := s.subscriber("https://example.com/{library}/{id}").Get("Authorization")
				publisher := s.publisher("*").Get("Authorization")
				ctx, cancel := context.WithTimeout(t.Context(), 2*pushtest.Patience)
				defer cancel()
				const bearer = len("Bearer ")
				out, err := exec.CommandContext(ctx, "node", "../../conformance/clients/mercure.mjs", library, s.url, subscriber[bearer:], publisher[bearer:]).CombinedOutput()
				if err != nil {
					s.t.Fatalf("%v: %s", err, out)
				}
				s.t.Logf("%s", out)
			})
		})
	}
}
