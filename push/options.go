package push

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redline-go/redline/push/format"
)

// Options are the settings of a hub. The zero value works: each field has a default that is
// safe on the open internet. Where a limit may be lifted, a negative value does it.
type Options struct {
	// Formats are what subscribers can choose from; the first is for those that accept
	// anything. At most 16. Default: SSE, NDJSON, Protobuf.
	Formats []format.Format

	// Rules are for topics that need other settings than those below. The first rule whose
	// pattern selects a topic applies.
	Rules []Rule
	// Policy says what happens to events of a subscriber whose queue is full. Default:
	// DropOldest.
	Policy Policy
	// History is what is kept for subscribers that resume. Default: 128 events, 1 MiB and
	// ten minutes a topic.
	History History

	// QueueEvents and QueueBytes bound what waits for one subscriber. Defaults: 256, 1 MiB.
	QueueEvents int
	QueueBytes  int
	// MaxDelay is how long an event may wait for others, so that they leave in one write.
	// Default: 0, no waiting. At most a minute.
	MaxDelay time.Duration

	// MaxEventBytes bounds the data of one event. Default: 1 MiB.
	MaxEventBytes int
	// MaxBytes bounds the memory of the hub: its history, topics, who is present, pages that are being
	// sent, what is queued, each event in all its encodings and until the last connection has sent it,
	// and half a KiB for each subscriber. Of what connections have taken and not sent, only events of
	// more than 64 KiB count: see Server.WriteBuffer.
	//
	// When it is reached, the history gets shorter, and subscribers are ended that keep what it does not
	// hold, in their queues or in their connections, the furthest behind first. A connection is closed
	// for that, without a bye. New subscribers get 503 if nobody can be ended for them, or if subscribers
	// and who is present have half of it. Default: 512 MiB.
	MaxBytes int64
	// MaxTopics bounds the topics whose history is known. Of the 4,096 that were forgotten last
	// it is still known what they have lost. Default: 100,000.
	MaxTopics int
	// MaxSubscribers bounds the subscribers of this hub. Default: 250,000.
	MaxSubscribers int
	// MaxPerAddress and MaxPerUser bound the subscribers with the same address and the same
	// user, see [Handler]. IPv6 addresses of one /64 are one address. Default: no bound, because a proxy
	// may be in front of all.
	MaxPerAddress int
	MaxPerUser    int
	// Connects bounds how often an address, and a user, may connect, and Resumptions how often it may
	// connect with an ID to resume from, or read a page of the history. Who comes more often is asked to
	// come later. Without [Handler.Address], addresses of private networks and of this machine
	// are not counted, because they are those of proxies. Default: 100 a second after 2,000 at once, and 50
	// after 1,000.
	Connects    Rate
	Resumptions Rate
	// MaxFilters bounds the topics and patterns that one client may ask for. One that asks for
	// nothing gets what the authorize function grants, at most 16 times as many. Default: 64.
	MaxFilters int

	// Heartbeat is for how long a stream may be silent before a sign of life is sent.
	// Negative: for ever. Default: 20 seconds.
	Heartbeat time.Duration
	// Lifetime is after which time a subscriber is asked to connect again, varied by a fifth
	// so that not all come at once. Negative: never. Default: one hour.
	Lifetime time.Duration
	// Retry is after which time a client connects again when its stream breaks, varied by
	// a half. Default: 2 seconds.
	Retry time.Duration
	// WriteTimeout is how long a client on net/http may take to accept one write; for clients
	// on a redline.Server, see its StallTimeout. Default: 30 seconds.
	WriteTimeout time.Duration
	// AckTimeout is for how long the system of a client on a redline.Server may acknowledge
	// nothing of what was sent to it; then it counts as gone, see
	// [redline.Subscription.SetAckTimeout]. It bounds how long a client that has vanished
	// stays: a Heartbeat later something is sent to it, and AckTimeout after that it is gone.
	// Negative: as long as the system has it. Default: two Heartbeats, at most ten minutes;
	// or WriteTimeout if that is more, because the kernel also counts while a client reads
	// nothing.
	AckTimeout time.Duration
	// Spread is the time over which Shutdown ends the subscribers, and over which they
	// connect elsewhere. Negative: all at once. Default: 2 seconds.
	Spread time.Duration

	// Broker connects the hubs of a cluster. Default: none; the hub is alone.
	Broker Broker
	// Fill is how many of the broker's last events a new hub reads before it is [Hub.Ready]: clients
	// that resume at a node which was restarted are then served from memory, and not by one read of
	// the broker each. Of each topic the hub keeps what History says. If the broker gives nothing for
	// a second, the hub is ready with what it has, and the rest follows. Negative: none. Default:
	// 50,000.
	Fill int
	// Isolated says what Publish does while the broker is out of reach. Default: Refuse.
	Isolated Isolated
	// Registry is told who is connected. Default: none.
	Registry Registry
	// Node names this process in the registry. Default: random.
	Node string
	// RegistryTTL is after which time the registry forgets a node that has died. Default: 30
	// seconds.
	RegistryTTL time.Duration

	// PresenceGrace is for how long a user may be gone before others are told that it has left, see
	// Rule.Presence: one that connects again in between was there all the time. Negative: no time.
	// Default: 10 seconds.
	PresenceGrace time.Duration

	// Logger gets what an operator should know. Default: slog.Default.
	Logger *slog.Logger

	limited int  // how many rules have limits of queues
	bounded bool // a rule bounds events
}

// A Rule has the settings of some topics.
type Rule struct {
	Pattern string
	Policy  Policy  // 0: that of Options
	History History // a field that is 0: that of Options
	// Presence tells subscribers that ask for it (?presence=1) which users listen to the topics of the
	// rule, see Handler.User: all who may listen to a topic may then see these names. A user with several
	// subscriptions joins with the first, and leaves with the last. One that listens to a pattern is seen
	// by those with the same pattern, if the rule selects all that the pattern does. With a Registry that
	// is a [Watcher] the users are those of all nodes, else of this one. Default: nobody is told.
	Presence bool

	// QueueEvents and QueueBytes bound what of these topics waits for one subscriber, of its queue: when
	// there is more, the policy applies to these topics alone. 0: as much as the queue has room for.
	QueueEvents int
	QueueBytes  int
	// MaxEventBytes bounds the data of one event. 0: Options.MaxEventBytes.
	MaxEventBytes int
	// Private keeps these topics to handlers with an authorize function: others answer with 403 to names
	// and patterns that select one of them.
	Private bool
	// ReadOnly keeps requests from publishing, whatever their tokens allow: only the service does. Handlers
	// that publish look at it by [Hub.Rule].
	ReadOnly bool

	own int // its place among the rules with limits of queues, from 1; 0: it has none
}

// History bounds what is kept of a topic. The oldest events are dropped first. A negative
// number of events keeps none; other negative fields set no bound.
type History struct {
	Events int
	Bytes  int // of data, and 64 for each event; the newest event is kept although it has more
	Age    time.Duration
}

// A Policy says what happens to the events of a subscriber whose queue is full. Whatever is
// dropped is announced to the client as a gap.
type Policy uint8

const (
	// DropOldest drops the oldest event that waits, so that the client catches up to the
	// present. Events of topics with DropNewest or Disconnect are not dropped for it: if
	// nothing else waits, the new event is. It is the default.
	DropOldest Policy = iota + 1
	// DropNewest drops the new event, so that the client gets a stretch without holes.
	DropNewest
	// Conflate replaces an event that waits by the new one, if both have the same topic and
	// Key, even before the queue is full. That is what its subscribers want, and is no gap.
	// If there is none to replace and the queue is full, it drops the oldest.
	Conflate
	// Disconnect ends the subscriber, which may connect again and resume.
	Disconnect
)

// Isolated says what a hub does without its broker.
type Isolated uint8

const (
	// Refuse returns the broker's error from Publish. Subscribers stay, and get what was
	// published in the meantime when the broker is back.
	Refuse Isolated = iota
	// DeliverLocally gives events to the subscribers of this node only, without a place in
	// the cluster's order: they get no ID to resume from, and are not repeated.
	DeliverLocally
)

// value is one setting: what was given, its default, and its bounds.
type value[T int | int64 | time.Duration] struct {
	name             string
	field            *T
	fallback         T
	least, most      T
	lifted, liftable T // what a negative value means, if liftable is not 0
}

func (v value[T]) set(errs *[]error) {
	switch {
	case *v.field == 0:
		*v.field = v.fallback
	case *v.field < 0 && v.liftable != 0:
		*v.field = v.lifted
	case *v.field < v.least || *v.field > v.most:
		*errs = append(*errs, badOption(v.name, "is %v: use %v to %v", *v.field, v.least, v.most))
	}
}

// unbounded is the value of MaxPerAddress and MaxPerUser without a bound.
const unbounded = 1 << 30

const never = time.Duration(1<<63 - 1)

// withDefaults returns the options with all fields set.
func (o Options) withDefaults() (Options, error) {
	const most = unbounded
	var errs []error
	for _, v := range []value[int]{
		{name: "QueueEvents", field: &o.QueueEvents, fallback: 256, least: 1, most: 1 << 20},
		{name: "QueueBytes", field: &o.QueueBytes, fallback: 1 << 20, least: 1 << 10, most: most},
		{name: "MaxEventBytes", field: &o.MaxEventBytes, fallback: 1 << 20, least: 1, most: most},
		{name: "MaxTopics", field: &o.MaxTopics, fallback: 100_000, least: 1, most: most},
		{name: "MaxSubscribers", field: &o.MaxSubscribers, fallback: 250_000, least: 1, most: most},
		{name: "MaxPerAddress", field: &o.MaxPerAddress, fallback: most, least: 1, most: most, lifted: most, liftable: 1},
		{name: "MaxPerUser", field: &o.MaxPerUser, fallback: most, least: 1, most: most, lifted: most, liftable: 1},
		{name: "MaxFilters", field: &o.MaxFilters, fallback: 64, least: 1, most: 1 << 16},
		{name: "Fill", field: &o.Fill, fallback: 50_000, least: 1, most: most, lifted: 0, liftable: 1},
		{name: "History.Events", field: &o.History.Events, fallback: 128, least: 1, most: most, lifted: -1, liftable: 1},
		{name: "History.Bytes", field: &o.History.Bytes, fallback: 1 << 20, least: 1, most: most, lifted: most, liftable: 1},
	} {
		v.set(&errs)
	}
	for _, v := range []value[time.Duration]{
		{name: "History.Age", field: &o.History.Age, fallback: 10 * time.Minute, least: time.Millisecond, most: never, lifted: never, liftable: 1},
		{name: "MaxDelay", field: &o.MaxDelay, least: time.Microsecond, most: time.Minute},
		{name: "Heartbeat", field: &o.Heartbeat, fallback: 20 * time.Second, least: 10 * time.Millisecond, most: 24 * time.Hour, lifted: never, liftable: 1},
		{name: "Lifetime", field: &o.Lifetime, fallback: time.Hour, least: 10 * time.Millisecond, most: never, lifted: never, liftable: 1},
		{name: "Retry", field: &o.Retry, fallback: 2 * time.Second, least: time.Millisecond, most: time.Hour},
		{name: "WriteTimeout", field: &o.WriteTimeout, fallback: 30 * time.Second, least: time.Millisecond, most: time.Hour},
		{name: "Spread", field: &o.Spread, fallback: 2 * time.Second, least: time.Millisecond, most: time.Hour, lifted: 0, liftable: 1},
		{name: "PresenceGrace", field: &o.PresenceGrace, fallback: 10 * time.Second, least: time.Millisecond, most: time.Hour, lifted: 0, liftable: 1},
		{name: "RegistryTTL", field: &o.RegistryTTL, fallback: 30 * time.Second, least: 10 * time.Millisecond, most: time.Hour},
	} {
		v.set(&errs)
	}
	value[time.Duration]{
		name: "AckTimeout", field: &o.AckTimeout, fallback: max(2*min(o.Heartbeat, 5*time.Minute), o.WriteTimeout),
		least: time.Millisecond, most: 24 * time.Hour, lifted: never, liftable: 1,
	}.set(&errs)
	value[int64]{name: "MaxBytes", field: &o.MaxBytes, fallback: 512 << 20, least: 1 << 16, most: 1 << 50}.set(&errs)
	errs = append(errs, o.Connects.finish("Connects", Rate{10 * time.Millisecond, 2000}),
		o.Resumptions.finish("Resumptions", Rate{20 * time.Millisecond, 1000}))
	if o.Policy == 0 {
		o.Policy = DropOldest
	}
	if o.Policy > Disconnect {
		errs = append(errs, badOption("Policy", "is unknown: use one of the constants"))
	}
	if len(o.Formats) == 0 {
		o.Formats = []format.Format{format.SSE, format.NDJSON, format.Protobuf}
	}
	if len(o.Formats) > 16 {
		errs = append(errs, badOption("Formats", "has more than 16 formats: leave some out"))
	}
	if o.Node == "" {
		o.Node = newEpoch()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, errors.Join(append(errs, o.finishRules())...)
}

// An OptionError says which option of [New] cannot be, and what to use instead.
type OptionError struct {
	Field string // of Options, such as "Rules[2].QueueBytes"
	Why   string // what is wrong, and the remedy
}

// Error implements error.
func (e *OptionError) Error() string { return "push: Options." + e.Field + " " + e.Why }

func badOption(field, why string, args ...any) error {
	return &OptionError{field, fmt.Sprintf(why, args...)}
}
