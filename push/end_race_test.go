package push_test

import (
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// TestEndWhileTheyCome: subscribers come and leave while those of their users are ended, withdrawn and listed.
// At the end nobody is there whose right was withdrawn, and nothing of those who have left.
func TestEndWhileTheyCome(t *testing.T) {
	const users, each = 8, 40
	hub := pushtest.Hub(t, push.Options{})
	h := known(hub)
	until := time.Now().Add(time.Hour)
	var work sync.WaitGroup
	for u := range users {
		user := fmt.Sprint("u", u)
		work.Go(func() {
			for i := range each {
				r := httptest.NewRequestWithContext(t.Context(), "GET", "/?topic=t", nil)
				r.Header.Set("X-User", user)
				r.Header.Set("X-Token", fmt.Sprint(user, i%3))
				work.Go(func() { h.ServeHTTP(httptest.NewRecorder(), r) })
			}
		})
		work.Go(func() {
			for range each {
				if _, err := hub.End(t.Context(), push.Ending{User: user}); err != nil {
					t.Error(err)
				}
				for range hub.Connections() {
					hub.Stats()
				}
				pushtest.Publish(t, hub, "t", "x")
			}
			if _, err := hub.End(t.Context(), push.Ending{User: user, Until: until}); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait() // each stream has ended
	st := hub.Stats()
	if st.Subscribers != 0 || st.Waiting != 0 || st.WaitingBytes != 0 || st.Endings["ended"]+st.Endings["revoked"]+st.Refusals["revoked"] != users*each {
		t.Errorf("got %+v", st)
	}
}
