//go:build !twin

package main

import (
	"context"
	"math/rand/v2"
	"net"
)

// hosts picks replicas of a service.
type hosts struct {
	resolver *net.Resolver
}

func newHosts(r *net.Resolver) *hosts {
	return &hosts{resolver: r}
}

// pick returns the address of a replica, so that the load is spread over all of them.
func (h *hosts) pick(ctx context.Context, name string) (string, error) {
	addrs, err := h.resolver.LookupHost(ctx, name)
	if err != nil {
		return "", err
	}
	return addrs[rand.IntN(len(addrs))], nil
}
