package bus

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/redline-go/redline/lab/load/fleet"
)

// Address identifies a run on a NATS server.
type Address struct {
	URL         string // nats://host:port; may hold a user and password
	Run         string // name of the run: letters, digits, - and _
	Token       string // secret of the run
	Credentials string // file with a user's JWT and seed; empty: none
}

// New returns the address of a new run on a server, with a random name and token.
func New(url string) Address {
	return Address{URL: url, Run: rand.Text()[:12], Token: rand.Text()}
}

// NewID returns an id for a worker.
func NewID() string { return rand.Text()[:12] }

func (a Address) validate() error {
	word := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
	}
	switch {
	case a.URL == "":
		return errors.New("no NATS server URL: write nats://host:4222")
	case a.Run == "" || strings.TrimFunc(a.Run, word) != "":
		return fmt.Errorf("run name %q: write letters, digits, - and _", a.Run)
	case len(a.Token) < 16:
		return fmt.Errorf("the run's token has %d characters: write at least 16", len(a.Token))
	}
	return nil
}

func (a Address) coordinator() string            { return "redline." + a.Run + ".coordinator" }
func (a Address) worker(id string) string        { return "redline." + a.Run + ".worker." + id }
func password(token string) string               { return hex.EncodeToString(mac(token, "connect", nil)) }
func (a Address) seal(s string, b []byte) []byte { return mac(a.Token, s, b) }

// mac returns the authentication code of a payload and its subject.
func mac(token, subject string, b []byte) []byte {
	h := hmac.New(sha256.New, []byte(token))
	h.Write([]byte(subject)) // a hash never returns an error
	h.Write([]byte{'\n'})
	h.Write(b)
	return h.Sum(nil)
}

const (
	sealHeader = "Redline-Seal"
	retry      = 250 * time.Millisecond
	retries    = 20       // maximum of attempts to restore a lost connection
	headroom   = 1 << 10  // bytes of the maximum payload reserved for headers
	pending    = 16 << 10 // maximum of unread messages

	readyWithin = 30 * time.Second // timeout of the server's start, and of one answer from it
	flushWithin = 10 * time.Second // timeout of the last flush
)

// Conn is a connection of a worker or the coordinator. That of a worker is a [fleet.Wire].
// [Coordinator] returns that of the coordinator, a [fleet.Carrier].
type Conn struct {
	addr  Address
	nc    *nats.Conn
	inbox chan *fleet.Message
	end   context.CancelFunc
	ended chan struct{}
	err   error // valid after ended
}

// Worker connects a worker. It retries until the context ends, because the coordinator may
// start later than its workers. A permanent error ends it at once.
func Worker(ctx context.Context, a Address, id string) (*Conn, error) {
	if id == "" {
		return nil, errors.New("the worker has no id")
	}
	return dial(ctx, a, a.worker(id))
}

// CoordinatorConn is the coordinator's connection.
type CoordinatorConn struct{ *Conn }

// Coordinator connects the coordinator, as Worker does. When the context ends, the error
// includes that of the last attempt.
func Coordinator(ctx context.Context, a Address) (CoordinatorConn, error) {
	c, err := dial(ctx, a, a.coordinator())
	return CoordinatorConn{c}, err
}

func dial(ctx context.Context, a Address, subject string) (*Conn, error) {
	if err := a.validate(); err != nil {
		return nil, err
	}
	options := []nats.Option{
		nats.Name("redline " + subject), nats.Token(password(a.Token)), nats.NoEcho(),
		nats.Timeout(5 * time.Second), nats.ReconnectWait(retry), nats.MaxReconnects(retries),
	}
	if a.Credentials != "" {
		options = append(options, nats.UserCredentials(a.Credentials))
	}
	nc, err := connect(ctx, a.URL, options)
	if err != nil {
		return nil, err
	}
	sub, err := nc.SubscribeSync(subject)
	if err == nil {
		err = sub.SetPendingLimits(pending, 8*maxPayload)
	}
	if err == nil {
		err = nc.FlushTimeout(readyWithin) // wait until the server has the subscription
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("subscribe to the NATS server: %w", err)
	}
	reading, end := context.WithCancel(context.Background())
	c := &Conn{addr: a, nc: nc, inbox: make(chan *fleet.Message, 64), end: end, ended: make(chan struct{})}
	go c.read(reading, sub)
	return c, nil
}

// connect connects, and retries after errors that may be temporary.
func connect(ctx context.Context, url string, options []nats.Option) (*nats.Conn, error) {
	for {
		nc, err := nats.Connect(url, options...)
		if err == nil {
			return nc, nil
		}
		err = fmt.Errorf("connect to the NATS server at %s: %w", redact(url), err)
		if errors.Is(err, nats.ErrAuthorization) {
			return nil, fmt.Errorf("%w; check that the token is that of this run", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		case <-time.After(retry):
		}
	}
}

// redact removes the user and password from a URL.
func redact(url string) string {
	if scheme, rest, ok := strings.Cut(url, "://"); ok {
		return scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
	}
	return url[strings.LastIndexByte(url, '@')+1:]
}

// Address returns the address of the run.
func (c *Conn) Address() Address { return c.addr }

// read passes messages with a valid seal to the inbox, and ignores all others.
func (c *Conn) read(ctx context.Context, sub *nats.Subscription) {
	defer close(c.ended)
	defer close(c.inbox)
	for {
		in, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			switch {
			case ctx.Err() != nil:
			case errors.Is(err, nats.ErrConnectionClosed):
				c.err = fmt.Errorf("the connection to the NATS server at %s was lost, and was not restored within %v: %w", redact(c.addr.URL), retries*retry, err)
			default:
				c.err = fmt.Errorf("read from the NATS server: %w", err)
			}
			return
		}
		arrived := time.Now()
		seal, err := hex.DecodeString(in.Header.Get(sealHeader))
		if err != nil || !hmac.Equal(seal, c.addr.seal(in.Subject, in.Data)) {
			continue
		}
		m := new(fleet.Message)
		if err := json.Unmarshal(in.Data, m); err != nil {
			c.err = fmt.Errorf("parse a message with a valid seal: %w", err)
			return
		}
		m.Arrived = arrived
		select {
		case c.inbox <- m:
		case <-ctx.Done():
			return
		}
	}
}

// Room returns the maximum size of an order in bytes.
func (c *Conn) Room() int64 { return c.nc.MaxPayload() - 2*headroom }

// publish sends one message.
func (c *Conn) publish(subject string, m *fleet.Message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if limit := c.nc.MaxPayload() - headroom; int64(len(data)) > limit {
		return fmt.Errorf("a message of %d bytes exceeds the NATS server's limit of %d: raise its max_payload, or send smaller bodies", len(data), limit)
	}
	out := nats.NewMsg(subject)
	out.Data = data
	out.Header.Set(sealHeader, hex.EncodeToString(c.addr.seal(subject, data)))
	return c.nc.PublishMsg(out)
}

// Send implements fleet.Wire.
func (c *Conn) Send(m *fleet.Message) error { return c.publish(c.addr.coordinator(), m) }

// Send implements fleet.Carrier.
func (c CoordinatorConn) Send(worker string, m *fleet.Message) error {
	if strings.ContainsAny(worker, ". *>\t\r\n") || worker == "" {
		return fmt.Errorf("no worker has the id %q", worker)
	}
	return c.publish(c.addr.worker(worker), m)
}

// Inbox implements fleet.Wire and fleet.Carrier.
func (c *Conn) Inbox() <-chan *fleet.Message { return c.inbox }

// Close flushes unsent messages, for ten seconds at most, and closes the connection. It does
// not wait if the server is disconnected. The error reports why the inbox was closed early,
// or that messages were not sent.
func (c *Conn) Close() error {
	var flushed error
	switch {
	case c.nc.IsConnected():
		flushed = c.nc.FlushTimeout(flushWithin)
		if errors.Is(flushed, nats.ErrConnectionClosed) {
			flushed = nil // the reader's error is more precise
		}
	case !c.nc.IsClosed():
		flushed = nats.ErrDisconnected
	}
	c.end()
	<-c.ended
	c.nc.Close()
	return errors.Join(c.err, flushed)
}
