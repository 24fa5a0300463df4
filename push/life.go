package push

import (
	"context"
	"fmt"
	"time"
)

// live starts the timer that looks after subscribers and history, if there is anything to
// look after. The lock is held.
func (h *Hub) live() {
	if h.beating {
		return
	}
	h.beating = true
	if h.timer == nil {
		h.timer = time.AfterFunc(h.tickEvery, h.tick)
		return
	}
	h.timer.Reset(h.tickEvery)
}

// shares is how many ticks there are in a quarter of the heartbeat.
const shares = 16

// tick looks at a share of everything: signs of life, lifetimes, the age of the history.
func (h *Hub) tick() {
	h.ticks.Add(1)
	if h.bytes.Load() > h.o.MaxBytes {
		h.relieve(0) // what was published before may have been encoded since
	}
	h.presence.round()
	h.mu.Lock()
	defer h.mu.Unlock()
	aging := h.history.expire(shares)
	for i := len(h.plain); i < len(h.shards); i++ {
		// A loop without subscribers may have ended.
		if sh := h.shards[i]; sh.idle() {
			h.cluster.former.merge(&sh.counts)
			h.shards = append(h.shards[:i], h.shards[i+1:]...)
			i--
		}
	}
	for _, sh := range h.shards {
		sh.look()
	}
	h.beating = (aging || h.presence.pending()) && !h.closed || h.limits.total() > 0
	if h.beating {
		h.timer.Reset(h.tickEvery)
	}
}

func (c *counts) merge(d *counts) {
	c.delivered += d.delivered
	c.queued += d.queued
	c.dropped += d.dropped
	c.conflated += d.conflated
	c.gaps += d.gaps
	c.beats += d.beats
	for i := range d.ended {
		c.ended[i] += d.ended[i]
	}
}

// idle reports whether the shard of a loop has no subscribers: then nobody misses what its inbox holds,
// which is dropped. It takes the lock.
func (sh *shard) idle() bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if len(sh.all) > 0 {
		return false
	}
	for _, m := range sh.inbox {
		m.release()
	}
	sh.inbox, sh.inboxBytes, sh.ripe = nil, 0, 0
	sh.loop.now = nil
	sh.loop.unload()
	return true
}

// look checks a share of the subscribers. It takes the lock.
func (sh *shard) look() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	h := sh.hub
	now := h.ticks.Load()
	silent := uint32(h.o.Heartbeat * 3 / 4 / h.tickEvery)
	for range min(len(sh.all)/shares+1, len(sh.all)) {
		if sh.cursor--; sh.cursor < 0 || sh.cursor >= len(sh.all) {
			sh.cursor = len(sh.all) - 1
		}
		s := sh.all[sh.cursor]
		switch {
		case s.bye != 0:
		case now >= s.until:
			s.end(byeLifetime)
		case h.o.Heartbeat != never && now-s.wrote >= silent && s.queue == nil && s.state&(beat|busy) == 0:
			s.state |= beat
			s.sink.wake()
		}
	}
}

// Shutdown ends the hub: Publish and new subscribers are refused, and each subscriber gets
// what it is owed and a bye, spread over Options.Spread. It returns when all have left. If
// ctx is done first, the others are cut, and its error is returned, wrapped.
//
// Call it before Shutdown of the HTTP server, which waits for its responses.
func (h *Hub) Shutdown(ctx context.Context) error {
	h.close()
	began := time.Now()
	tick := time.NewTicker(min(max(h.o.Spread/100, time.Millisecond), 50*time.Millisecond))
	defer tick.Stop()
	for share := 0.0; ; {
		if share < 1 {
			share = 1
			if h.o.Spread > 0 {
				share = min(float64(time.Since(began))/float64(h.o.Spread), 1)
			}
			share = h.dismiss(share)
		}
		select {
		case <-h.drained:
			return h.stopCluster(ctx)
		case <-ctx.Done():
			n := h.limits.total()
			_ = h.Close()
			return fmt.Errorf("push: shut down with %d subscribers: %w", n, ctx.Err())
		case <-tick.C:
		}
	}
}

// close refuses what is new. What waits for MaxDelay waits no longer.
func (h *Hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, sh := range h.shards {
		sh.mu.Lock()
		if len(sh.inbox) > 0 {
			sh.empty()
		}
		sh.mu.Unlock()
	}
	h.stopWaiting()
	h.finish()
}

// dismiss ends subscribers until this share of those that there were has been ended. It
// returns the share, or 0 if events are still on their way to the queues.
func (h *Hub) dismiss(share float64) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, sh := range h.shards {
		sh.mu.Lock()
		waits := len(sh.inbox) > 0 || sh.loop != nil && sh.loop.walks()
		sh.mu.Unlock()
		if waits {
			return 0
		}
	}
	for _, sh := range h.shards {
		sh.mu.Lock()
		if sh.doomed == nil {
			sh.doomed = append(make([]*subscriber, 0, len(sh.all)+1), sh.all...)
			sh.fate = len(sh.doomed)
		}
		for n := int(float64(sh.fate) * (1 - share)); len(sh.doomed) > n; sh.doomed = sh.doomed[:len(sh.doomed)-1] {
			sh.doomed[len(sh.doomed)-1].end(byeShutdown)
		}
		sh.mu.Unlock()
	}
	return share
}

// Close ends the hub at once: all subscribers are cut. The error is nil.
func (h *Hub) Close() error {
	h.close()
	h.mu.Lock()
	var all []*subscriber
	for _, sh := range h.shards {
		sh.mu.Lock()
		all = append(all, sh.all...)
		sh.mu.Unlock()
	}
	if h.timer != nil {
		h.timer.Stop()
	}
	h.mu.Unlock()
	for _, s := range all {
		s.sink.abort()
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = h.stopCluster(ctx)
	return nil
}
