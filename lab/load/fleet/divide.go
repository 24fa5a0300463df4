package fleet

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"net/netip"

	"github.com/redline-go/redline/lab/load/arrive"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/load/wire"
)

// Divide divides a specification over n workers. Connections and rates are totals of all
// workers; requests, times and the server are the same for each.
func Divide(order *spec.Spec, n int) ([]Order, error) {
	whole := Load{Workers: n, Connections: order.Connections}
	if p := order.Arrivals; p != nil {
		whole.Rate, whole.Seed = p.Rate, p.Seed
	}
	var err error
	if whole.Sources, err = wire.ParseSources(order.Sources); err != nil {
		return nil, err
	}
	if addr, err := netip.ParseAddrPort(order.Addr); err == nil && len(whole.Sources) == 0 { // the dialer reports invalid addresses
		whole.Sources = wire.Loopback(addr.Addr(), order.Connections, n)
	}
	shares, err := Split(whole)
	if err != nil {
		return nil, err
	}
	orders := make([]Order, n)
	users, before := 0, 0
	for i, share := range shares {
		part, err := json.Marshal(specOf(order, share, users, before))
		if err != nil {
			return nil, fmt.Errorf("encode the order of worker %d: %w", i, err)
		}
		share.Sources = nil // they are in the specification
		orders[i] = Order{Share: share, Spec: part}
		users += share.Connections * max(order.Streams, 1)
		before += share.Connections
	}
	return orders, nil
}

// specOf gives one worker's specification; users and connections are how many of them the
// workers before it have.
func specOf(whole *spec.Spec, share Share, users, connections int) *spec.Spec {
	s := *whole
	n := float64(share.Workers)
	s.Member, s.Connections = true, share.Connections
	if whole.Initial > 0 {
		s.Initial = max(countOf(whole.Initial, share), 1)
	}
	s.ConnectRate /= n
	s.Sources = nil
	for _, a := range share.Sources {
		s.Sources = append(s.Sources, a.String())
	}
	if k := whole.Slow.Connections; k > 0 {
		if s.Slow.Connections = countOf(k, share); s.Slow.Connections == 0 {
			s.Slow = spec.Slow{} // 0 connections would mean all
		}
	}
	s.Requests = requestsOf(whole, share, connections)
	if whole.Listen != nil {
		listen := *whole.Listen
		listen.First += users
		listen.Churn /= n
		if share.Index > 0 { // one worker publishes
			listen.Publish = nil
		}
		s.Listen = &listen
	}
	if whole.Arrivals != nil {
		s.Arrivals = arrivals(whole.Arrivals, share)
	}
	if whole.Ramp != nil {
		ramp := *whole.Ramp
		ramp.Index, ramp.Of = share.Index, share.Workers
		s.Ramp = &ramp
	}
	if whole.Scenario != nil {
		play := *whole.Scenario
		if play.Users == 0 {
			play.Users = whole.Places()
		}
		play.First += users
		s.Scenario = &play
	}
	return &s
}

// countOf returns how many of k things a worker has; the remainder goes to the first
// workers.
func countOf(k int, share Share) int {
	n := k / share.Workers
	if share.Index < k%share.Workers {
		n++
	}
	return n
}

// requestsOf is how many of the requests a worker has. In an open loop all have the same rate.
// In a closed one they are in proportion to the connections, of which before are those of
// the workers before it.
func requestsOf(whole *spec.Spec, share Share, before int) uint64 {
	if whole.Arrivals != nil {
		return uint64(countOf(int(whole.Requests), share))
	}
	until := func(connections int) uint64 {
		high, low := bits.Mul64(whole.Requests, uint64(connections))
		n, _ := bits.Div64(high, low, uint64(whole.Connections))
		return n
	}
	return until(before+share.Connections) - until(before)
}

// arrivals returns one worker's part of a plan. The parts together are that plan or, if
// arrivals are random, a plan with the same rate.
func arrivals(whole *arrive.Plan, share Share) *arrive.Plan {
	p := *whole
	n := float64(share.Workers)
	p.Rate /= n
	p.Stages = nil
	for _, s := range whole.Stages {
		p.Stages = append(p.Stages, arrive.Stage{For: s.For, Rate: s.Rate / n})
	}
	p.Seed, p.Phase = share.Seed, share.Phase
	return &p
}
