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

// Address is where the parts of a run meet.
type Address struct {
	URL         string // nats://host:port; may hold a user and password
	Run         string // name of the run: letters, digits, - and _
	Token       string // secret of the run
	Credentials string // file with a user's JWT and seed; empty: none
}

// New returns the address of a new run on a server, with a name and a token
// that nobody can guess.
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
		return errors.New("no URL of a NATS server: write nats://host:4222")
	case a.Run == "" || strings.TrimFunc(a.Run, word) != "":
		return fmt.Errorf("name %q of the run: write letters, digits, - and _", a.Run)
	case len(a.Token) < 16:
		return fmt.Errorf("the run's token has %d characters: write at least 16", len(a.Token))
	}
	return nil
}

func (a Address) coordinator() string            { return "redline." + a.Run + ".coordinator" }
func (a Address) worker(id string) string        { return "redline." + a.Run + ".worker." + id }
func password(token string) string               { return hex.EncodeToString(mac(token, "connect", nil)) }
func (a Address) seal(s string, b []byte) []byte { return mac(a.Token, s, b) }

// mac authenticates a payload and what it is for.
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
	retries    = 20       // of a connection that was lost
	headroom   = 1 << 10  // bytes of a payload left for what surrounds a message
	pending    = 16 << 10 // messages not read yet

	readyWithin = 30 * time.Second // of the server, and for one answer of it
	flushWithin = 10 * time.Second // for what is still to be sent at the end
)

// Conn is one part's connection. That of a worker is a [fleet.Wire], that of the
// coordinator makes a [fleet.Carrier] with [Coordinator].
type Conn struct {
	addr  Address
	nc    *nats.Conn
	inbox chan *fleet.Message
	end   context.CancelFunc
	ended chan struct{}
	err   error // valid after ended
}

// Worker connects a worker. It tries until the context ends, since a coordinator
// may start later than its workers; what cannot get better ends it at once.
func Worker(ctx context.Context, a Address, id string) (*Conn, error) {
	if id == "" {
		return nil, errors.New("a worker without an id")
	}
	return dial(ctx, a, a.worker(id))
}

// CoordinatorConn is the coordinator's connection.
type CoordinatorConn struct{ *Conn }

// Coordinator connects the coordinator, as Worker does. Of a server that does not
// come the error says why, besides that the context has ended.
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
		err = nc.FlushTimeout(readyWithin) // the server knows the subscription
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("subscribe at the NATS server: %w", err)
	}
	reading, end := context.WithCancel(context.Background())
	c := &Conn{addr: a, nc: nc, inbox: make(chan *fleet.Message, 64), end: end, ended: make(chan struct{})}
	go c.read(reading, sub)
	return c, nil
}

// connect tries again while there is hope.
func connect(ctx context.Context, url string, options []nats.Option) (*nats.Conn, error) {
	for {
		nc, err := nats.Connect(url, options...)
		if err == nil {
			return nc, nil
		}
		err = fmt.Errorf("connect to the NATS server at %s: %w", redact(url), err)
		if errors.Is(err, nats.ErrAuthorization) {
			return nil, fmt.Errorf("%w; is the token that of this run?", err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		case <-time.After(retry):
		}
	}
}

// redact leaves the user and password out of a URL.
func redact(url string) string {
	if scheme, rest, ok := strings.Cut(url, "://"); ok {
		return scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
	}
	return url[strings.LastIndexByte(url, '@')+1:]
}

// Address is where the parts of the run meet.
func (c *Conn) Address() Address { return c.addr }

// read passes on what is sealed with the run's token. What is not was sent by a
// stranger and is none of our business.
func (c *Conn) read(ctx context.Context, sub *nats.Subscription) {
	defer close(c.ended)
	defer close(c.inbox)
	for {
		in, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			switch {
			case ctx.Err() != nil:
			case errors.Is(err, nats.ErrConnectionClosed):
				c.err = fmt.Errorf("the connection to the NATS server at %s was lost, and did not come back within %v: %w", redact(c.addr.URL), retries*retry, err)
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
			c.err = fmt.Errorf("read a message with the run's seal: %w", err)
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

// Room is how many bytes an order may have.
func (c *Conn) Room() int64 { return c.nc.MaxPayload() - 2*headroom }

// publish sends one message.
func (c *Conn) publish(subject string, m *fleet.Message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if limit := c.nc.MaxPayload() - headroom; int64(len(data)) > limit {
		return fmt.Errorf("a message of %d bytes is larger than the %d that the NATS server takes: raise its max_payload, or send smaller bodies", len(data), limit)
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

// Close sends what was not sent yet, waits ten seconds at most for that, and
// ends the connection. The error says why the inbox ended before, if it did, or
// that something was not sent. It does not wait for a server that has gone.
func (c *Conn) Close() error {
	var flushed error
	switch {
	case c.nc.IsConnected():
		flushed = c.nc.FlushTimeout(flushWithin)
		if errors.Is(flushed, nats.ErrConnectionClosed) {
			flushed = nil // the reader's error is the better one
		}
	case !c.nc.IsClosed():
		flushed = nats.ErrDisconnected
	}
	c.end()
	<-c.ended
	c.nc.Close()
	return errors.Join(c.err, flushed)
}
