package pushnats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-go/redline/push"
)

// Publish appends an event. It is acknowledged when it is on the disk of the server, or of
// most servers that have a replica, as far as their settings sync it, see Options.Sync.
func (b *Broker) Publish(ctx context.Context, e push.Event) (seq uint64, repeated bool, err error) {
	ctx, done := b.within(ctx)
	defer done()
	if err := context.Cause(ctx); err != nil {
		return 0, false, fmt.Errorf("pushnats: %w", err)
	}
	if b.inside != nil {
		if err := b.inside.well(); err != nil {
			return 0, false, fmt.Errorf("pushnats: %w", err)
		}
	}
	ack, err := b.js.PublishMsg(ctx, encode(b.o.Prefix, &e), jetstream.WithExpectStream(b.o.Stream))
	switch {
	case err == nil:
		b.saw(ack.Sequence)
		return ack.Sequence, ack.Duplicate, nil
	case errors.Is(err, nats.ErrMaxPayload):
		return 0, false, fmt.Errorf("pushnats: %w: the server's max_payload is %d bytes: raise it, or publish a reference to the data", err, b.conn.MaxPayload())
	case errors.Is(err, jetstream.ErrNoStreamResponse):
		err = fmt.Errorf("%w: JetStream is starting, has no leader, or its disk is full", err)
	}
	err = reason(ctx, err)
	if b.inside != nil {
		if cause := b.inside.examine(); cause != nil {
			err = cause
		}
	}
	return 0, false, fmt.Errorf("pushnats: append to stream %s: %w", b.o.Stream, err)
}

const (
	// ahead bounds what the server sends before it was taken, in events and bytes.
	ahead      = 512
	aheadBytes = 8 << 20
)

// errHole: the server sent events that did not arrive.
var errHole = errors.New("an event is missing: reading again")

// Follow reads the stream from a place. It ends with an error when the connection is lost,
// when the server is silent, or when an event is missing.
func (b *Broker) Follow(ctx context.Context, after uint64, f func(push.Record)) error {
	ctx, done := b.linked(ctx)
	defer done()
	err := b.follow(ctx, after, f)
	return fmt.Errorf("pushnats: follow stream %s: %w", b.o.Stream, reason(ctx, err))
}

func (b *Broker) follow(ctx context.Context, after uint64, f func(push.Record)) error {
	c, err := b.js.CreateConsumer(ctx, b.o.Stream, jetstream.ConsumerConfig{
		Description: "redline push: all events, for one node",
		AckPolicy:   jetstream.AckNonePolicy, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		MemoryStorage: true, Replicas: 1, InactiveThreshold: time.Minute,
	})
	if err != nil {
		return err
	}
	defer b.forget(c)
	it, err := c.Messages(jetstream.PullMaxMessagesWithBytesLimit(ahead, max(aheadBytes, 2*(b.o.MaxEventBytes+head))),
		jetstream.PullExpiry(10*time.Second), jetstream.PullHeartbeat(2*time.Second), jetstream.WithMessagesErrOnMissingHeartbeat(true))
	if err != nil {
		return err
	}
	defer it.Stop()
	defer context.AfterFunc(ctx, it.Stop)()
	for want := uint64(1); ; want++ {
		m, err := it.Next()
		if err != nil {
			return err
		}
		at, err := m.Metadata()
		if err != nil {
			return err
		}
		if at.Sequence.Consumer != want {
			return errHole
		}
		b.saw(at.Sequence.Stream)
		e, err := decode(b.o.Prefix, m.Subject(), m.Headers(), m.Data(), at.Timestamp)
		if err != nil {
			b.o.Logger.Warn("push: a message in the stream is no event, and left out", "seq", at.Sequence.Stream, "error", err)
			continue
		}
		f(push.Record{Seq: at.Sequence.Stream, Event: e})
	}
}

// forget removes a consumer, which would end by itself.
func (b *Broker) forget(c jetstream.Consumer) {
	ctx, done := b.within(context.Background())
	defer done()
	if ctx.Err() == nil {
		_ = b.js.DeleteConsumer(ctx, b.o.Stream, c.CachedInfo().Name)
	}
}

// Replay reads events one after the other from the stream's leader, which knows of all that
// were acknowledged; a replica may be late. Those who ask for the same events share what was read.
func (b *Broker) Replay(ctx context.Context, after, until uint64, patterns []string, f func(push.Record) bool) (oldest uint64, err error) {
	ctx, done := b.linked(ctx)
	defer done()
	brief, cancel := context.WithTimeout(ctx, b.o.Timeout)
	s, err := b.js.Stream(brief, b.o.Stream)
	cancel()
	if err == nil {
		after = max(after+1, s.CachedInfo().State.FirstSeq) - 1 // what was dropped, the shelf may hold still
		err = b.replay(ctx, s, after, until, patterns, f)
	}
	var info *jetstream.StreamInfo
	if err == nil { // after the events, because some may have been dropped meanwhile
		brief, cancel = context.WithTimeout(ctx, b.o.Timeout)
		info, err = s.Info(brief)
		cancel()
	}
	if err == nil {
		b.mu.Lock()
		if last := min(until, b.last); info.State.LastSeq < last {
			err = fmt.Errorf("it ends at %d, and %d was seen: waiting for its leader", info.State.LastSeq, last)
		}
		b.mu.Unlock()
	}
	if err != nil {
		return 0, fmt.Errorf("pushnats: replay stream %s: %w", b.o.Stream, reason(ctx, err))
	}
	if info.State.Msgs == 0 {
		return info.State.LastSeq + 1, nil
	}
	return info.State.FirstSeq, nil
}

// replay merges the next event of each filter.
func (b *Broker) replay(ctx context.Context, s jetstream.Stream, after, until uint64, patterns []string, f func(push.Record) bool) error {
	var subjects []string
	for _, p := range patterns {
		subjects = filters(subjects, b.o.Prefix, p)
	}
	next := make([]*jetstream.RawStreamMsg, len(subjects)) // nil: none
	load := func(i int, from uint64) error {
		if next[i] = nil; from > until {
			return nil
		}
		m, err := b.shelf.get(ctx, spot{subjects[i], from}, func() (*jetstream.RawStreamMsg, error) {
			brief, cancel := context.WithTimeout(ctx, b.o.Timeout) // nobody answers during an election
			defer cancel()
			return s.GetMsg(brief, from, jetstream.WithGetMsgSubject(subjects[i]))
		})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil && m.Sequence <= until {
			next[i] = m
		}
		return err
	}
	for i := range subjects {
		if err := load(i, after+1); err != nil {
			return err
		}
	}
	for {
		var m *jetstream.RawStreamMsg
		for _, n := range next {
			if n != nil && (m == nil || n.Sequence < m.Sequence) {
				m = n
			}
		}
		if m == nil {
			return nil
		}
		if e, err := decode(b.o.Prefix, m.Subject, m.Header, m.Data, m.Time); err == nil && !f(push.Record{Seq: m.Sequence, Event: e}) {
			return nil
		}
		for i, n := range next {
			if n != nil && n.Sequence == m.Sequence {
				if err := load(i, m.Sequence+1); err != nil {
					return err
				}
			}
		}
	}
}
