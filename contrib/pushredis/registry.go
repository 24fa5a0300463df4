package pushredis

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redline-go/redline/push"
)

// Options are the settings of a registry.
type Options struct {
	// URL names the server, such as "redis://user:password@host:6379/0", or "rediss://" for
	// TLS. Default: "redis://localhost:6379".
	URL string
	// Client is used instead of URL, for clusters and sentinels. Close does not close it.
	Client redis.UniversalClient
	// Prefix begins the names of all keys. Default: "redline".
	Prefix string
}

// A Registry is a push.Registry in Redis. Its methods may be called by any number of
// goroutines; Update by one at a time for a node.
type Registry struct {
	client redis.UniversalClient
	own    bool // it closes the client
	prefix string
	skew   atomic.Int64 // of tests, in milliseconds

	work   sync.RWMutex // held by Update, and by Close until no Update works any more
	closed bool

	mu    sync.Mutex
	lives map[string]string // of nodes: one for each start, and each return after a lease has ended
}

// ErrLapsed: the lease of the node had ended before it was renewed. The hub then sends all
// its members.
var ErrLapsed = errors.New("pushredis: the lease of the node has ended: Redis was out of reach, or lost its data")

var errClosed = errors.New("pushredis: the registry is closed: close the hub first")

// New returns a registry. It does not connect before it is used.
func New(o Options) (*Registry, error) {
	if o.Prefix == "" {
		o.Prefix = "redline"
	}
	for _, r := range o.Prefix {
		if r <= ' ' || r > '~' || r == '{' || r == '}' {
			return nil, fmt.Errorf("pushredis: Options.Prefix is %q: use printable ASCII without spaces and braces", o.Prefix)
		}
	}
	r := &Registry{client: o.Client, prefix: "{" + o.Prefix + "}", lives: map[string]string{}}
	if o.Client != nil && o.URL != "" {
		return nil, errors.New("pushredis: Options has both Client and URL: leave one out")
	}
	if o.Client == nil {
		if o.URL == "" {
			o.URL = "redis://localhost:6379"
		}
		ro, err := redis.ParseURL(o.URL)
		if err != nil {
			// The URL may hold a password.
			return nil, errors.New("pushredis: Options.URL cannot be read: use redis://USER:PASSWORD@HOST:PORT/DB")
		}
		ro.MaxRetries, ro.DialerRetries = -1, 1 // the hub tries again
		ro.ContextTimeoutEnabled = true
		r.client, r.own = redis.NewClient(ro), true
	}
	return r, nil
}

// batch is how many members one script adds or removes.
const batch = 500

// Update reports what has changed on a node, and renews its lease; see [push.Registry]. The
// error is [ErrLapsed], wrapped or not, if the lease had ended.
func (r *Registry) Update(ctx context.Context, u push.Update) error {
	r.work.RLock()
	defer r.work.RUnlock()
	if r.closed {
		if u.Whole && len(u.Joined) == 0 {
			return nil // the node was removed
		}
		return errClosed
	}
	r.mu.Lock()
	life, known := r.lives[u.Node]
	r.mu.Unlock()
	if u.TTL < time.Millisecond {
		return fmt.Errorf("pushredis: the lease of %v is too short: use a millisecond or more", u.TTL)
	}
	var err error
	switch {
	case u.Whole && len(u.Joined) == 0:
		err = r.leave(ctx, u.Node)
	case u.Whole:
		err = r.replace(ctx, u)
	default:
		if !known {
			life, err = r.begin(ctx, u.Node, u.TTL, nil)
		}
		if err == nil {
			err = r.change(ctx, u, life)
		}
	}
	if err == nil {
		err = reap.Run(ctx, r.client, []string{r.prefix}, r.skew.Load()).Err()
	}
	if err != nil && !errors.Is(err, ErrLapsed) {
		return fmt.Errorf("pushredis: update: %w", err)
	}
	return err
}

// begin makes a life, with members, the current one of a node.
func (r *Registry) begin(ctx context.Context, node string, ttl time.Duration, members []push.Member) (life string, err error) {
	life = rand.Text()
	for len(members) > 0 {
		n := min(len(members), batch)
		args := []any{r.skew.Load(), node, life, ttl.Milliseconds()}
		for i := range members[:n] {
			args = appendMember(args, &members[i])
		}
		members = members[n:]
		if err := load.Run(ctx, r.client, []string{r.prefix}, args...).Err(); err != nil {
			return "", err
		}
	}
	// From here on it may be the current one, even after an error.
	r.mu.Lock()
	r.lives[node] = life
	r.mu.Unlock()
	return life, begin.Run(ctx, r.client, []string{r.prefix}, r.skew.Load(), node, life, ttl.Milliseconds()).Err()
}

// replace makes the members of an update those of a node, and announces the difference to
// those that it had.
func (r *Registry) replace(ctx context.Context, u push.Update) error {
	had, err := r.members(ctx, u.Node)
	if err != nil {
		return err
	}
	if _, err := r.begin(ctx, u.Node, u.TTL, u.Joined); err != nil {
		return err
	}
	c := push.Change{Node: u.Node}
	for _, m := range u.Joined {
		if _, ok := had[m.ID]; !ok {
			c.Joined = append(c.Joined, m)
		}
		delete(had, m.ID)
	}
	for _, text := range had {
		var m push.Member
		if json.Unmarshal([]byte(text), &m) == nil {
			c.Left = append(c.Left, m)
		}
	}
	return r.announce(ctx, c)
}

// members returns the members that Redis has of a node, by ID.
func (r *Registry) members(ctx context.Context, node string) (map[string]string, error) {
	name, err := r.client.HGet(ctx, r.prefix+"lives", node).Result()
	if errors.Is(err, redis.Nil) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	had := map[string]string{}
	scan := r.client.HScan(ctx, r.prefix+"m:"+node+":"+name, 0, "", batch).Iterator()
	for scan.Next(ctx) {
		id := scan.Val()
		if !scan.Next(ctx) {
			break
		}
		had[id] = scan.Val()
	}
	return had, scan.Err()
}

// change tells what has changed, in batches. One that has nothing to say renews the lease.
func (r *Registry) change(ctx context.Context, u push.Update, life string) error {
	for first := true; first || len(u.Joined)+len(u.Left) > 0; first = false {
		left := u.Left[:min(len(u.Left), batch)]
		joined := u.Joined[:min(len(u.Joined), batch)]
		u.Left, u.Joined = u.Left[len(left):], u.Joined[len(joined):]
		var message []byte
		c := push.Change{Node: u.Node, Joined: joined, Left: left}
		if len(joined)+len(left) > 0 {
			message, _ = json.Marshal(c) // which has nothing that JSON cannot hold
		}
		args := []any{r.skew.Load(), u.Node, life, u.TTL.Milliseconds(), message, len(left)}
		for i := range left {
			args = append(args, left[i].ID, len(left[i].Filters))
			for _, f := range left[i].Filters {
				args = append(args, f)
			}
		}
		for i := range joined {
			args = appendMember(args, &joined[i])
		}
		ok, err := change.Run(ctx, r.client, []string{r.prefix}, args...).Bool()
		if err != nil {
			return err
		}
		if !ok {
			return ErrLapsed
		}
	}
	return nil
}

func appendMember(args []any, m *push.Member) []any {
	text, _ := json.Marshal(m)
	args = append(args, m.ID, text, len(m.Filters))
	for _, f := range m.Filters {
		args = append(args, f)
	}
	return args
}

// leave removes a node. If this registry has not told of it, it is what an earlier process
// of the same name has left.
func (r *Registry) leave(ctx context.Context, node string) error {
	r.mu.Lock()
	life := r.lives[node]
	r.mu.Unlock()
	if err := leave.Run(ctx, r.client, []string{r.prefix}, r.skew.Load(), node, life).Err(); err != nil {
		return err
	}
	r.mu.Lock()
	delete(r.lives, node)
	r.mu.Unlock()
	return nil
}

// Counts returns how many members have each of these filters.
func (r *Registry) Counts(ctx context.Context, filters []string) ([]int, error) {
	sums := make([]int, 0, len(filters))
	for len(filters) > 0 {
		n := min(len(filters), batch)
		args := []any{r.skew.Load()}
		for _, f := range filters[:n] {
			args = append(args, f)
		}
		filters = filters[n:]
		got, err := count.Run(ctx, r.client, []string{r.prefix}, args...).Int64Slice()
		if err != nil {
			return nil, fmt.Errorf("pushredis: count: %w", err)
		}
		for _, n := range got {
			sums = append(sums, int(n))
		}
	}
	return sums, nil
}

// maxMembers is how many members one call returns at most.
const maxMembers = 100_000

// Members returns members with exactly this topic or pattern, at most so many, and at most
// 100,000.
func (r *Registry) Members(ctx context.Context, filter string, most int) ([]push.Member, error) {
	if most <= 0 {
		return nil, nil
	}
	texts, err := list.Run(ctx, r.client, []string{r.prefix}, r.skew.Load(), filter, strconv.Itoa(min(most, maxMembers))).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("pushredis: list members: %w", err)
	}
	members := make([]push.Member, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal([]byte(text), &members[i]); err != nil {
			return nil, fmt.Errorf("pushredis: list members: %w: is the prefix used by something else?", err)
		}
	}
	return members, nil
}

// Close removes the nodes that this registry has told of, if Redis is in reach, and closes
// the connections. Call it after the hub's Shutdown or Close. What it could not remove,
// Redis forgets within two leases.
func (r *Registry) Close(ctx context.Context) error {
	r.work.Lock()
	defer r.work.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	r.mu.Lock()
	var nodes []string
	for node := range r.lives {
		nodes = append(nodes, node)
	}
	r.mu.Unlock()
	var errs []error
	for _, node := range nodes {
		errs = append(errs, r.leave(ctx, node))
	}
	if r.own {
		errs = append(errs, r.client.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("pushredis: close: %w", err)
	}
	return nil
}
