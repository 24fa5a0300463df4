package pushnats

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/redline-go/redline/push"
)

// A Broker is a push.Broker on a stream of NATS. Its methods may be called by any number of
// goroutines.
type Broker struct {
	o      Options
	inside *embedded // nil: an external server
	conn   *nats.Conn
	js     jetstream.JetStream
	closed chan struct{} // closed when the connection has ended
	shelf  shelf

	mu     sync.Mutex
	link   context.Context // done while the connection is lost
	broken context.CancelCauseFunc
	epoch  string
	last   uint64 // the newest place that was seen in this epoch
	behind int    // how often in a row the stream ended before it
}

var (
	errLost   = errors.New("the connection to NATS is lost")
	errClosed = errors.New("the broker is closed: close the hub first")
)

// New returns a broker. With Options.Dir it starts a server, and its errors are reported;
// with Options.URL it begins to connect, and tries until it succeeds. Call [Broker.Close]
// after the hub's Shutdown or Close.
func New(o Options) (*Broker, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Broker{o: o, closed: make(chan struct{})}
	b.link, b.broken = context.WithCancelCause(context.Background())
	b.broken(errLost)
	options := append([]nats.Option{
		nats.Name("redline push"),
		nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true),
		nats.ReconnectWait(200 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.ReconnectBufSize(-1), // an event is sent, or its publisher is told
		nats.PingInterval(o.Ping), nats.MaxPingsOutstanding(2), nats.Timeout(o.Timeout),
	}, o.Connect...)
	options = append(options, nats.ConnectHandler(b.connected), nats.ReconnectHandler(b.connected),
		nats.DisconnectErrHandler(b.disconnected), nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }))
	if o.Dir != "" {
		if b.inside, err = embed(&b.o); err != nil {
			return nil, err
		}
		options = append(options, nats.InProcessServer(b.inside.server))
	}
	if b.conn, err = nats.Connect(o.URL, options...); err == nil {
		b.js, err = jetstream.New(b.conn, jetstream.WithDefaultTimeout(o.Timeout))
	}
	if err != nil {
		b.stop()
		return nil, fmt.Errorf("pushnats: connect: %w", err)
	}
	if b.conn.IsConnected() {
		b.connected(nil)
	}
	return b, nil
}

// URL is where other nodes reach the embedded server, or "" if it serves only this process.
func (b *Broker) URL() string {
	if b.inside == nil || b.inside.server.Addr() == nil {
		return b.o.URL
	}
	return "nats://" + b.inside.server.Addr().String()
}

// Close ends the connection, and the embedded server. The error is nil.
func (b *Broker) Close() error {
	b.disconnected(nil, errClosed)
	b.stop()
	return nil
}

func (b *Broker) stop() {
	if b.conn != nil {
		b.conn.Close()
		<-b.closed
	}
	if b.inside != nil {
		b.inside.close()
	}
}

func (b *Broker) connected(*nats.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.link.Err() == nil {
		return
	}
	b.link, b.broken = context.WithCancelCause(context.Background())
}

func (b *Broker) disconnected(_ *nats.Conn, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		err = errLost
	}
	b.broken(err)
}

// linked returns a context that is also done when the connection is lost.
func (b *Broker) linked(ctx context.Context) (context.Context, context.CancelFunc) {
	b.mu.Lock()
	link := b.link
	b.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(link, func() { cancel(context.Cause(link)) })
	return ctx, func() { stop(); cancel(nil) }
}

// within is linked, for one request.
func (b *Broker) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, done := b.linked(ctx)
	ctx, cancel := context.WithTimeout(ctx, b.o.Timeout)
	return ctx, func() { cancel(); done() }
}

// reason prefers why a context is done to the error that followed from it.
func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// Open makes sure that the stream is there. Its epoch names the stream, and changes if the
// stream has lost events that this broker has seen, so that no place means two events.
func (b *Broker) Open(ctx context.Context) (push.Span, error) {
	if b.inside != nil {
		_ = b.inside.examine()
		if err := b.inside.well(); err != nil {
			return push.Span{}, fmt.Errorf("pushnats: open: %w", err)
		}
	}
	ctx, done := b.within(ctx)
	defer done()
	b.mu.Lock()
	last := b.last // from before the state is read, which others may already have passed
	b.mu.Unlock()
	info, err := b.stream(ctx)
	if err == nil {
		err = b.admit(ctx, info, last)
	}
	if err != nil {
		return push.Span{}, fmt.Errorf("pushnats: open stream %s: %w", b.o.Stream, reason(ctx, err))
	}
	s := push.Span{Epoch: epoch(info), First: info.State.FirstSeq, Last: info.State.LastSeq}
	if info.State.Msgs == 0 {
		s.First = s.Last + 1
	}
	return s, nil
}

// metadataEpoch is the key of the stream's metadata that holds the epoch: 16 hexadecimal
// digits, as the hub's own.
const metadataEpoch = "redline-epoch"

// epoch returns the name of a stream's order, or "" if it has none yet.
func epoch(info *jetstream.StreamInfo) string { return info.Config.Metadata[metadataEpoch] }

// settled is how old a replicated stream has to be. When its nodes start together, each may
// try to create and name it, and the last one wins.
const settled = 5 * time.Second

// rename begins an epoch.
func (b *Broker) rename(ctx context.Context, info *jetstream.StreamInfo, epoch string) (*jetstream.StreamInfo, error) {
	config := info.Config
	if config.Metadata = maps.Clone(config.Metadata); config.Metadata == nil {
		config.Metadata = map[string]string{}
	}
	config.Metadata[metadataEpoch] = epoch
	return b.update(ctx, config)
}

func hexOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// stream returns the state of the stream, which it creates if there is none.
func (b *Broker) stream(ctx context.Context) (*jetstream.StreamInfo, error) {
	s, err := b.js.Stream(ctx, b.o.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = b.js.CreateStream(ctx, b.config()) // which succeeds if another node was faster
	}
	if err != nil {
		return nil, err
	}
	info := s.CachedInfo()
	if epoch(info) == "" {
		// Servers of a cluster may not agree on the time for long, but all nodes see it now.
		name := hexOf(info.Config.Name + strconv.FormatInt(info.Created.UnixNano(), 10))
		if info, err = b.rename(ctx, info, name); err != nil {
			return nil, err
		}
	}
	if info.Config.Replicas > 1 && info.TimeStamp.Sub(info.Created) < settled {
		return nil, errors.New("it is new: waiting until all nodes see the same")
	}
	config := b.config()
	switch have := info.Config; {
	case len(have.Subjects) != 1 || have.Subjects[0] != config.Subjects[0]:
		return nil, fmt.Errorf("it has the subjects %q instead of %q: choose another Options.Stream", have.Subjects, config.Subjects)
	case b.inside == nil || have.MaxMsgs == config.MaxMsgs && have.MaxBytes == config.MaxBytes && have.MaxAge == config.MaxAge &&
		have.Duplicates == config.Duplicates && have.MaxMsgSize == config.MaxMsgSize && have.Replicas == config.Replicas:
		return info, nil
	default: // the options have changed since it was created
		config.Metadata = have.Metadata
		return b.update(ctx, config)
	}
}

func (b *Broker) update(ctx context.Context, config jetstream.StreamConfig) (*jetstream.StreamInfo, error) {
	s, err := b.js.UpdateStream(ctx, config)
	if err != nil {
		return nil, err
	}
	return s.CachedInfo(), nil
}

func (b *Broker) config() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: b.o.Stream, Subjects: []string{b.o.Prefix + ".>"},
		Description: "events of the redline push hub",
		Retention:   jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, Storage: jetstream.FileStorage,
		MaxMsgs: b.o.MaxEvents, MaxBytes: b.o.MaxBytes, MaxAge: b.o.MaxAge, MaxMsgSize: int32(b.o.MaxEventBytes + head),
		Duplicates: b.o.Window, Replicas: b.o.Replicas,
	}
}

// patience is how often in a row a replicated stream may end before what was seen of it: a
// new leader needs a moment to apply its log.
const patience = 20

// admit compares the stream with what this broker has seen of it. If its end is missing, the
// stream gets a new epoch, which every node computes alike.
func (b *Broker) admit(ctx context.Context, info *jetstream.StreamInfo, last uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch at := epoch(info); {
	case at != b.epoch:
		b.shelf.clear()
		b.epoch, b.last, b.behind = at, info.State.LastSeq, 0
		return nil
	case info.State.LastSeq >= last:
		b.last, b.behind = max(b.last, info.State.LastSeq), 0
		return nil
	}
	if b.behind++; info.Config.Replicas > 1 && b.behind < patience {
		return fmt.Errorf("it ends at %d, and %d was seen: waiting for its leader", info.State.LastSeq, last)
	}
	updated, err := b.rename(ctx, info, hexOf(b.epoch))
	if err != nil {
		return err
	}
	*info = *updated
	b.shelf.clear()
	b.epoch, b.last, b.behind = epoch(info), info.State.LastSeq, 0
	return nil
}

// saw notes the newest place.
func (b *Broker) saw(seq uint64) {
	b.mu.Lock()
	b.last = max(b.last, seq)
	b.mu.Unlock()
}
