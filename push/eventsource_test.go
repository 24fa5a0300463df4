package push_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// unreachable is a broker that nobody reaches.
type unreachable struct{ push.Broker }

func (unreachable) Open(context.Context) (push.Span, error) { return push.Span{}, errors.New("none") }

// TestEventSourceComesAgain: an EventSource that the hub does not take now gets a status that it does not
// end on for good, and when to come again. Others get 503, and so does HEAD.
func TestEventSourceComesAgain(t *testing.T) {
	for reason, open := range map[string]func() *push.Hub{
		"shutdown": func() *push.Hub {
			hub := pushtest.Hub(t, push.Options{})
			if err := hub.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			return hub
		},
		"broker": func() *push.Hub { return pushtest.Hub(t, push.Options{Broker: unreachable{}}) },
		"limit": func() *push.Hub {
			hub := pushtest.Hub(t, push.Options{MaxSubscribers: 1})
			pushtest.Open(t, pushtest.Plain(t, hub.Handler(nil)), pushtest.Query{Topics: []string{"t"}})
			return hub
		},
	} {
		t.Run(reason, func(t *testing.T) {
			hub := open()
			for name, at := range map[string]string{
				"loops":    serve(t, &redline.Server{Native: hub.Handler(nil).Serve}),
				"mounted":  serve(t, &redline.Server{Handler: hub.Handler(nil)}),
				"net/http": pushtest.Plain(t, hub.Handler(nil)),
			} {
				r, err := http.NewRequestWithContext(t.Context(), "GET", at+"?topic=t", nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Accept", "text/event-stream")
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				text := string(body)
				if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" ||
					!strings.HasPrefix(text, "retry: ") || !strings.Contains(text, "\nevent: hub:bye\ndata: {\"reason\":\""+reason+"\"") {
					t.Errorf("%s: %d %v %q %v", name, resp.StatusCode, resp.Header, body, err)
				}
				for _, method := range []string{"GET", "HEAD"} {
					if status, _, _ := pushtest.Refused(t, method, at+"?topic=t", nil); status != 503 {
						t.Errorf("%s %s: %d, want 503", name, method, status)
					}
				}
			}
		})
	}
}
