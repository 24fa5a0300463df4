// Package push is a hub for events: publishers send them to topics, and subscribers, which
// are HTTP requests, receive those of the topics and patterns that they name.
//
//	hub, err := push.New(push.Options{})
//	http.Handle("/events", hub.Handler(nil))
//	hub.Publish(ctx, push.Event{Topic: "orders/17", Data: []byte(`{"state":"paid"}`)})
//
// A browser listens with new EventSource("/events?topic=orders/*").
//
// The handler runs under any server of net/http, with one goroutine for each subscriber. On
// a redline.Server it returns at once: the event loop of the connection serves the stream,
// and a subscriber costs neither goroutine nor timer nor buffer. An event is encoded once for
// each format, and handed over once for each loop.
//
// # What is promised
//
// Each subscriber gets the events of its topics in one order, the order in which they were
// published, each of them once. Where it does not get one, because its queue was full or
// the history does not reach back far enough, it gets a gap that says so, before the event
// that follows ([format.Gap]). A client that connects again with the ID of its last event
// continues exactly there. docs/push-promises.md says what holds under which fault.
//
// # Order of the parts
//
//	Publish ─▶ sequence and history ─▶ inbox of each shard ─▶ queues ─▶ sinks
//	           Hub.mu                  shard.mu: index, subscribers     net/http: goroutines
//	                                                                    redline: walks of loops
//
// [Broker] and [Registry] connect the hubs of several processes. Package memory has both for
// one process; package pushtest tests implementations, and any way to mount the handler.
package push
