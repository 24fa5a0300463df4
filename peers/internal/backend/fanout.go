package backend

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// calls is how many calls GET /fanout makes at once.
const calls = 3

// newFan makes the client for the HTTP service on a unix socket: net/http's default
// transport. By default it keeps two idle connections to a service and opens all others
// anew for each request; programs that call one service often raise this limit, as here.
func newFan(socket string) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, calls*kept
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	return &http.Client{Transport: transport}
}

// Fanout makes three calls at once, each of which takes the time that is asked for, and
// joins what they answer. The time is as [time.ParseDuration] reads it, at most [MaxWait].
// The first call that fails ends the others.
func (b *Backends) Fanout(ctx context.Context, wait string) (string, error) {
	d, err := parseWait(wait)
	if err != nil {
		return "", err
	}
	if b.fan == nil {
		return "", ErrNone
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts [calls]string
	var all sync.WaitGroup
	for i := range parts {
		all.Go(func() {
			var err error
			if parts[i], err = b.part(ctx, i+1, d); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return strings.Join(parts[:], ""), context.Cause(ctx)
}

// part makes one call.
func (b *Backends) part(ctx context.Context, n int, wait time.Duration) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://backend/part?n=%d&wait=%v", n, wait), nil)
	if err != nil {
		return "", err
	}
	resp, err := b.fan.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("part %d: %s", n, resp.Status)
	}
	return string(text), err
}
