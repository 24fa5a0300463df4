package pushredis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redline-go/redline/push"
)

var _ push.Watcher = (*Registry)(nil)

// announce publishes a change in batches.
func (r *Registry) announce(ctx context.Context, c push.Change) error {
	for len(c.Joined)+len(c.Left) > 0 {
		part := push.Change{Node: c.Node, Joined: c.Joined[:min(len(c.Joined), batch)], Left: c.Left[:min(len(c.Left), batch)]}
		c.Joined, c.Left = c.Joined[len(part.Joined):], c.Left[len(part.Left):]
		text, _ := json.Marshal(part)
		if err := r.client.Publish(ctx, r.prefix+"events", text).Err(); err != nil {
			return err
		}
	}
	return nil
}

// Watch calls f for each change on any node, one at a time, until ctx is done, and returns
// why. f is called first with Missed when Watch has begun to listen: what was before has to
// be read. When Redis is gone, Watch waits for its return.
func (r *Registry) Watch(ctx context.Context, f func(push.Change)) error {
	s := r.client.Subscribe(ctx, r.prefix+"events")
	defer s.Close()
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	for {
		m, err := s.ReceiveTimeout(ctx, time.Minute)
		switch m := m.(type) {
		case *redis.Subscription:
			f(push.Change{Missed: true})
			continue
		case *redis.Message:
			var c push.Change
			if json.Unmarshal([]byte(m.Payload), &c) == nil {
				f(c)
			}
			continue
		case nil:
		default:
			continue
		}
		if ctx.Err() != nil {
			return fmt.Errorf("pushredis: watch: %w", context.Cause(ctx))
		}
		var timeout interface{ Timeout() bool }
		if errors.As(err, &timeout) && timeout.Timeout() {
			// A silent connection may be a dead one.
			if s.Ping(ctx) == nil {
				continue
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
}
