// Package mercure is an endpoint that speaks the Mercure protocol as its specification on
// mercure.rocks/spec has it, so that clients and publishers written for it work unchanged: an
// EventSource, Symfony's Mercure component, API Platform. It keeps its updates in a hub of
// package push, with that hub's limits, queues and history.
//
//	endpoint, err := mercure.New(ctx, mercure.Options{
//		Publisher:  pushjwt.Options{Keys: map[string]any{"": publisherKey}, Algorithms: []string{"HS256"}},
//		Subscriber: pushjwt.Options{Keys: map[string]any{"": subscriberKey}, Algorithms: []string{"HS256"}},
//		Anonymous:  true,
//	})
//	if err != nil { ... }
//	defer endpoint.Close()
//	mux.Handle(mercure.Path, endpoint)
//	mux.Handle(mercure.Path+"/", endpoint)
//
// docs/push-contrib.md lists what of the protocol is covered.
package mercure
