package mercure

import (
	"strings"
	"testing"

	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/memory"
)

func TestNew(t *testing.T) {
	for want, o := range map[string]Options{
		"Options.Publisher":  {},
		"Options.Subscriber": {Publisher: keys(publisherKey), Subscriber: keys([]byte("short"))},
		"MaxData":            {Publisher: keys(publisherKey), MaxData: -1},
		"QueueEvents":        {Publisher: keys(publisherKey), Push: push.Options{QueueEvents: -1}},
		"Broker":             {Publisher: keys(publisherKey), Push: push.Options{Broker: new(memory.Broker)}},
		"Origins":            {Publisher: keys(publisherKey), Origins: []string{"example.com"}},
	} {
		e, err := New(t.Context(), o)
		if err == nil {
			_ = e.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
