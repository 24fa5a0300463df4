// Package pushredis keeps who is connected to the hubs of a cluster in Redis, 6.2 or later.
//
//	registry, err := pushredis.New(pushredis.Options{URL: "redis://localhost:6379"})
//	hub, err := push.New(push.Options{Registry: registry, Node: "web-1"})
//	n, err := registry.Counts(ctx, []string{"orders/17"})
//
// Each node has its members under keys of its own, and a lease. What a node that has died
// leaves is not counted from the moment its lease ends, and removed by the next node that
// renews its own, or by Redis:
//
//	{redline}leases           sorted set  node -> end of its lease, by the clock of Redis
//	{redline}lives            hash        node -> life: one start of the node
//	{redline}m:NODE:LIFE      hash        ID of a member -> the member, as JSON
//	{redline}i:NODE:LIFE      sorted set  filter NUL ID of a member, in this order
//	{redline}events           channel     what has changed, as JSON
//
// The braces keep the keys of one prefix on one server of a Redis cluster. docs/push-cluster.md
// says what is promised under which fault.
package pushredis
