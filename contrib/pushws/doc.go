// Package pushws serves the subscribers of a hub through WebSockets, for clients that cannot
// read a response while it arrives. What a client can ask for, authorization, limits, queues
// and policies are those of package push:
//
//	mux.Handle("/events", hub.Handler(authorize))
//	mux.Handle("/socket", pushws.Handler(hub.Handler(authorize)))
//
// docs/push-contrib.md describes the messages and the close codes. The library
// github.com/coder/websocket does the protocol.
package pushws
