package export

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	queueRoom   = 512                    // capacity in snapshots: 100 seconds of a run
	batchMost   = 64                     // maximum snapshots in one message
	batchPause  = time.Second            // between messages
	retryPause  = 500 * time.Millisecond // before a retry
	sendMost    = 3                      // maximum attempts for a message, within endPatience
	sendTimeout = 10 * time.Second       // of an attempt
)

// errSlow is the reason for lost points if a receiver is too slow.
var errSlow = errors.New("the receiver is too slow")

// A writer writes snapshots in one format to one destination. One goroutine at a time uses it.
type writer interface {
	// write returns errRefused if a retry is useless.
	write(ctx context.Context, list []*snapshot) error
	close() error
	String() string // for messages; without credentials
}

// errRefused means that a receiver rejects a message permanently.
var errRefused = errors.New("refused")

// queue sends snapshots in batches, from its own goroutine. If it is full, it drops the newest.
type queue struct {
	writer
	in       chan *snapshot
	pause    time.Duration // between messages
	patience time.Duration // maximum duration of end
	stop     chan struct{} // closed: no more pauses
	life     context.Context
	kill     context.CancelFunc
	sender   sync.WaitGroup

	mu   sync.Mutex
	lost int
	why  error // reason for the last loss
}

// newQueue returns a queue for a writer.
func newQueue(w writer) *queue {
	q := &queue{writer: w, in: make(chan *snapshot, queueRoom), pause: batchPause, patience: endPatience, stop: make(chan struct{})}
	q.life, q.kill = context.WithCancel(context.Background())
	return q
}

// open writes the first snapshot, and starts the goroutine.
func (q *queue) open(ctx context.Context, first *snapshot) error {
	if err := q.write(ctx, []*snapshot{first}); err != nil {
		return errors.Join(err, q.close())
	}
	q.sender.Go(q.work)
	return nil
}

// point enqueues a snapshot if there is room.
func (q *queue) point(s *snapshot) {
	select {
	case q.in <- s:
	default:
		q.lose(1, errSlow)
	}
}

func (q *queue) lose(n int, why error) {
	q.mu.Lock()
	q.lost, q.why = q.lost+n, why
	q.mu.Unlock()
}

// work sends snapshots until the channel is closed.
func (q *queue) work() {
	for first := range q.in {
		batch := q.more([]*snapshot{first})
		if err := q.try(q.life, batch, 1); err != nil {
			if q.life.Err() != nil {
				err = errSlow
			}
			q.lose(len(batch), err)
		}
		select {
		case <-time.After(q.pause):
		case <-q.stop:
		}
	}
}

// more adds the snapshots that are already in the queue.
func (q *queue) more(batch []*snapshot) []*snapshot {
	for len(batch) < batchMost {
		select {
		case s, ok := <-q.in:
			if !ok {
				return batch
			}
			batch = append(batch, s)
		default:
			return batch
		}
	}
	return batch
}

// try sends a message, with up to again retries.
func (q *queue) try(ctx context.Context, batch []*snapshot, again int) error {
	for {
		one, cancel := context.WithTimeout(ctx, sendTimeout)
		err := q.write(one, batch)
		cancel()
		if err == nil || again == 0 || errors.Is(err, errRefused) || ctx.Err() != nil {
			return err
		}
		again--
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
}

// end sends the remaining snapshots, for half of the patience, and then the last one, which is
// the most important.
func (q *queue) end(ctx context.Context, last *snapshot) (lost int, why, err error) {
	close(q.stop)
	close(q.in)
	late := time.AfterFunc(q.patience/2, q.kill)
	defer late.Stop()
	q.sender.Wait()
	ctx, cancel := context.WithTimeout(ctx, q.patience-q.patience/2)
	defer cancel()
	if last != nil {
		err = q.try(ctx, []*snapshot{last}, sendMost-1)
	}
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("not within %v: %w", q.patience, err)
	}
	return q.lost, q.why, err
}

// close ends the goroutine, unless end has done so.
func (q *queue) close() error {
	q.kill()
	select {
	case <-q.stop:
	default:
		close(q.stop)
		close(q.in)
	}
	q.sender.Wait()
	return q.writer.close()
}
