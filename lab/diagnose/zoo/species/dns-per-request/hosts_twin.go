//go:build twin

package main

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// hosts picks replicas of a service. It remembers them as long as a record is valid.
type hosts struct {
	resolver *net.Resolver
	mu       sync.Mutex
	known    map[string]replicas
}

type replicas struct {
	addrs []string
	until time.Time
}

func newHosts(r *net.Resolver) *hosts {
	return &hosts{resolver: r, known: map[string]replicas{}}
}

// pick returns the address of a replica, so that the load is spread over all of them.
func (h *hosts) pick(ctx context.Context, name string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := h.known[name]
	if time.Now().After(k.until) {
		addrs, err := h.resolver.LookupHost(ctx, name)
		if err != nil {
			return "", err
		}
		k = replicas{addrs: addrs, until: time.Now().Add(30 * time.Second)}
		h.known[name] = k
	}
	return k.addrs[rand.IntN(len(k.addrs))], nil
}
