package pushjwt_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/redline-go/redline/push/pushtest"
)

// wantExpired subscribes with a token that was just made, or with another if it expired too soon, and
// wants the stream to end in order because of it.
func wantExpired(t *testing.T, at string, fresh func() http.Header) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pushtest.Patience)
	defer cancel()
	transport := pushtest.NewTransport()
	defer transport.CloseIdleConnections()
	var resp *http.Response
	pushtest.Until(t, "it has subscribed before its token expired", func() bool {
		r, err := http.NewRequestWithContext(ctx, "GET", at, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header = fresh()
		r.Header.Set("Accept", "text/event-stream")
		if resp, err = transport.RoundTrip(r); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusOK {
			resp.Body.Close()
		}
		return resp.StatusCode == http.StatusOK
	})
	defer resp.Body.Close()
	next, err := pushtest.NewDecoder("sse", resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var last pushtest.Message
	for m, err := next(); err != io.EOF; m, err = next() {
		if err != nil {
			t.Fatalf("the stream did not end in order: %v", err)
		}
		if len(m.Data) > 0 && m.Bye == nil {
			t.Errorf("got %+v, which nobody has sent", m)
		}
		last = m
	}
	if last.Bye == nil || last.Bye.Reason != "lifetime" {
		t.Errorf("the token expired: %+v", last)
	}
}
