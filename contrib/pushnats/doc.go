// Package pushnats connects the hubs of a cluster by NATS JetStream.
//
//	broker, err := pushnats.New(pushnats.Options{Dir: "data/push"}) // a server inside this process
//	hub, err := push.New(push.Options{Broker: broker})
//
// All events are in one stream, whose sequence is their order on every node. What the stream
// holds can be replayed, also after a restart of any node:
//
//	stream REDLINE   subject              header                      payload
//	17               redline.orders.eu    Nats-Msg-Id, Redline-Type   Data
//	18               redline.chat.42      Redline-Key, Redline-Time   Data
//
// A topic's segments are the tokens of its subject; what a token cannot hold is written as
// %XX, and an empty segment as %. So any client of NATS can publish to the hub.
// docs/push-cluster.md says what is promised under which fault.
package pushnats
