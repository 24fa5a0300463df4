package redline

import (
	"strings"
	"sync/atomic"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/learn"
	"github.com/redline-go/redline/internal/tlsio"
	"github.com/redline-go/redline/internal/transport"
)

// counters are the server's own, in addition to those of the transport.
type counters struct {
	refused, panics atomic.Uint64
	streams         exchange.StreamCounters
}

// Stats are counters since the server started.
type Stats struct {
	Transport Transport    // the chosen one; empty before the server has started
	Loops     int          // event loops; 0 on TransportStd
	Open      int64        // connections, now
	Accepted  uint64       // connections
	BytesIn   uint64       // received
	BytesOut  uint64       // accepted by the kernel for sending
	Refused   uint64       // requests answered without the handler
	Panics    uint64       // in handlers and hooks
	Takeovers uint64       // loops taken over because a handler took too long
	Detached  uint64       // loops given up by a handler
	Spared    uint64       // calls begun off their loop, because it had been taken over too often
	Stayed    uint64       // requests served by a goroutine that had kept its connection, because handlers wait there
	HTTP2     HTTP2Stats   // connections of HTTP/2
	TLS       TLSStats     // handshakes
	Routes    []RouteStats // routes of the routers that have served, and shapes of paths
}

// HTTP2Stats counts what happens on connections of HTTP/2.
type HTTP2Stats struct {
	Open    int64  // connections, now
	Streams uint64 // requests: streams opened by clients
	Left    uint64 // streams reset by clients
	Reset   uint64 // streams reset by the server because of an error of the client or the handler
	Refused uint64 // streams beyond MaxStreams
	Failed  uint64 // connections that ended because of an error of the protocol
	Abusive uint64 // those of them that cost more than they achieved: floods of resets, pings and others
}

// TLSStats are counters of handshakes.
type TLSStats struct {
	Full, Resumed uint64 // successful ones, by kind
	Waiting       int    // now, for a CPU

	// Failed ones, by cause. Each is also logged, to ErrorLog or Logger.
	TimedOut    uint64 // not complete within ReadHeaderTimeout
	Refused     uint64 // closed because too many others waited
	Gone        uint64 // the client closed the connection
	Alerts      uint64 // the client sent an alert, for example because it does not trust the certificate
	BadVersions uint64 // the client supports no version that the server accepts
	PlainHTTP   uint64 // the client sent an HTTP request
	Other       uint64 // anything else, for example no certificate for the client's name
}

// tlsStats are the counters of a server's handshakes.
func tlsStats(b *tlsio.Handshakes) TLSStats {
	if b == nil {
		return TLSStats{} // it has not started
	}
	st := b.Stats()
	return TLSStats{
		Full: st.Full, Resumed: st.Resumed, Waiting: st.Waiting,
		TimedOut: st.Failed[tlsio.Timeout], Refused: st.Failed[tlsio.Refused], Gone: st.Failed[tlsio.Gone],
		Alerts: st.Failed[tlsio.Alert], BadVersions: st.Failed[tlsio.Version],
		PlainHTTP: st.Failed[tlsio.PlainHTTP], Other: st.Failed[tlsio.Other],
	}
}

// RouteStats is what was learned about a route. The server does not know the routes of
// Handler; for its requests, RouteStats covers those whose paths have the same shape: a
// segment "*" matches any.
type RouteStats struct {
	Method, Pattern string
	Slow            uint64 // calls that held their loop for more than a millisecond, since the route was last considered not to block
	Blocking        bool   // starts off the loop
}

// http2 returns the counters of HTTP/2.
func (c *counters) http2() HTTP2Stats {
	n := &c.streams
	return HTTP2Stats{
		Open: n.Open.Load(), Streams: n.Streams.Load(), Left: n.Left.Load(), Reset: n.Reset.Load(),
		Refused: n.Refused.Load(), Failed: n.Failed.Load(), Abusive: n.Abusive.Load(),
	}
}

// Stats returns the counters. It takes no lock that is used for serving requests.
func (s *Server) Stats() Stats {
	var t transport.Stats
	if tr := s.transport(); tr != nil {
		t = tr.Stats()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := Stats{
		Transport: s.chosen, Loops: t.Loops, Open: t.Open, Accepted: t.Accepted,
		BytesIn: t.BytesIn, BytesOut: t.BytesOut,
		Refused: s.counters.refused.Load(), Panics: s.counters.panics.Load(),
		TLS: tlsStats(s.handshakes), Takeovers: t.Takeovers, Detached: t.Detached, Spared: t.Spared, Stayed: t.Stayed,
		HTTP2: s.counters.http2(),
	}
	for _, r := range s.routes {
		out.Routes = append(out.Routes, RouteStats{
			Method: r.method, Pattern: r.pattern, Slow: r.habit.Slows(), Blocking: r.habit.Blocks(),
		})
	}
	s.shapes.Each(func(shape string, h *learn.Habit) {
		method, path, _ := strings.Cut(shape, " ")
		out.Routes = append(out.Routes, RouteStats{Method: method, Pattern: path, Slow: h.Slows(), Blocking: h.Blocks()})
	})
	return out
}
