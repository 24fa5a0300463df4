package tickets

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of [NewKeys].
const (
	DefaultRotation = 12 * time.Hour
	DefaultInterval = 5 * time.Second
	DefaultAhead    = time.Minute
)

const (
	// maxRotation makes a key, which is kept for two rotations, live for at most seven
	// days, which is also how long crypto/tls accepts a session (RFC 8446, section 4.6.1).
	maxRotation = 84 * time.Hour
	// seldom is how long nothing is logged about a source that has been logged as failing.
	seldom = time.Minute
	// lockTime is how long NewKeys and Rotate wait for the lock of a file.
	lockTime = 5 * time.Second
	// fetchTime is how long a function may take.
	fetchTime = 30 * time.Second
)

// A KeysOption changes what [NewKeys] does.
type KeysOption func(*options)

type options struct {
	rotation, interval, ahead time.Duration

	logger *slog.Logger
	path   string
	fetch  func(context.Context) ([][32]byte, error)
}

// File shares the keys with all processes that use the same file. It is created with mode
// 0600 if it does not exist, and so is a lock next to it, path.lock. Both have to belong
// to the process's user; a file that others may read or write is refused, and so are a
// symbolic link and a file that is not one of keys. Any of the processes makes the next
// key. To remove the file is to replace all keys. Files can be shared on Linux, macOS and
// the BSDs; elsewhere the error is errors.ErrUnsupported.
func File(path string) KeysOption { return func(o *options) { o.path = path } }

// Fetch takes the keys from a function, which is called at once and then at every interval:
// at most 16 keys of 32 random bytes, of which the first encrypts and all decrypt. To
// replace a key without refusing a ticket, add the new key as the second, and make it
// the first when all processes have it. The function should return when its context is done,
// after 30 s or because of Close. After an error, the keys of before are kept, and the
// error is logged: it must not contain keys. Rotation is the function's business.
func Fetch(f func(context.Context) ([][32]byte, error)) KeysOption {
	return func(o *options) { o.fetch = f }
}

// Rotation sets for how long each key encrypts; it then decrypts for as long again. At
// most 84 hours, so that no key lives longer than a week.
func Rotation(d time.Duration) KeysOption { return func(o *options) { o.rotation = d } }

// Interval sets how often the file is read or the function called.
func Interval(d time.Duration) KeysOption { return func(o *options) { o.interval = d } }

// Ahead sets how long a key is in the file before it encrypts. It has to be longer than the
// interval of every process, and than the clocks of several machines differ; otherwise a
// process is offered tickets of a key that it does not know yet, and makes full handshakes.
func Ahead(d time.Duration) KeysOption { return func(o *options) { o.ahead = d } }

// Logger sets where failures of the file or function are logged. The default is
// [slog.Default]. Keys are never logged.
func Logger(l *slog.Logger) KeysOption { return func(o *options) { o.logger = l } }

// A source has the keys of a moment. If asked to hurry, it makes others.
type source interface {
	refresh(now time.Time, hurry bool) ([]key, error)
}

// Keys encrypts session tickets (RFC 8446, section 4.6.1; RFC 5077), with keys that change.
// All methods may be called by several goroutines at a time.
type Keys struct {
	options
	now    atomic.Pointer[ring]
	mu     sync.Mutex // held while source is used
	source source
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	ended  chan struct{}
	skew   atomic.Int64 // added to the clock, for tests of several processes
}

// NewKeys makes keys at random, or uses those of [File] or [Fetch]. It starts a goroutine,
// which ends with Close. The error says why the file or function cannot be used, or which
// option is impossible.
func NewKeys(o ...KeysOption) (*Keys, error) {
	k := &Keys{options: options{rotation: DefaultRotation, interval: DefaultInterval, ahead: -1, logger: slog.Default()}}
	for _, option := range o {
		option(&k.options)
	}
	if err := k.prepare(); err != nil {
		return nil, fmt.Errorf("ticket keys: %w", err)
	}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	k.ended = make(chan struct{})
	if err := k.refreshUnlocked(false); err != nil {
		k.cancel()
		return nil, fmt.Errorf("ticket keys: %w", err)
	}
	go k.watch()
	return k, nil
}

// prepare checks the options and makes the source.
func (k *Keys) prepare() (err error) {
	if k.logger == nil {
		k.logger = slog.Default()
	}
	if k.rotation <= 0 || k.rotation > maxRotation {
		return fmt.Errorf("rotation of %v: use more than 0 and at most %v", k.rotation, maxRotation)
	}
	if k.interval < time.Millisecond {
		return fmt.Errorf("interval of %v: use at least a millisecond", k.interval)
	}
	if k.path != "" && k.fetch != nil {
		return errors.New("use either File or Fetch")
	}
	switch {
	case k.fetch != nil:
		k.source = fetched{k}
	case k.path != "":
		if k.ahead < 0 {
			k.ahead = max(min(DefaultAhead, k.rotation/4), 3*k.interval)
		}
		if k.ahead > k.rotation/2 || k.ahead < k.interval {
			return fmt.Errorf("keys are known %v before use: use at least the interval, %v, and at most half of the rotation, %v", k.ahead, k.interval, k.rotation)
		}
		k.source, err = newFile(k.path, schedule{k.rotation, k.ahead})
	default:
		k.source = &random{schedule: schedule{k.rotation, 0}}
	}
	return err
}

// Close ends the goroutine, and waits for it. The keys of that moment can be used after
// that. The error is always nil.
func (k *Keys) Close() error {
	k.cancel()
	<-k.ended
	return nil
}

// Apply makes a configuration of a server use the keys. It sets WrapSession and
// UnwrapSession. If GetConfigForClient is set, it is replaced by a function that does
// the same with copies of the configurations that it returns, unless they have functions
// of their own. Call Apply after these fields are set and before the configuration is
// used. Copies that servers make with Config.Clone use the keys too.
func (k *Keys) Apply(c *tls.Config) { apply(c, k.wrap, k.unwrap) }

// Rotate makes a new key, which encrypts as soon as all processes know it (see [Ahead]). It is
// not needed for the rotation at intervals. Tickets of earlier keys are still accepted: to
// refuse them, remove the file. With [Fetch], Rotate calls the function. The error says
// what went wrong; the keys of before are then kept.
func (k *Keys) Rotate() error {
	if err := k.refreshUnlocked(true); err != nil {
		return fmt.Errorf("rotate ticket keys: %w", err)
	}
	return nil
}

// Format writes how many keys there are, whatever the format, so that none is ever printed.
func (k *Keys) Format(f fmt.State, _ rune) {
	n := 0
	if r := k.now.Load(); r != nil {
		n = len(r.keys)
	}
	_, _ = fmt.Fprintf(f, "tickets.Keys(%d)", n)
}

// clock is the time by which keys are chosen and planned.
func (k *Keys) clock() time.Time { return time.Now().Add(time.Duration(k.skew.Load())) }

func (k *Keys) wrap(cs tls.ConnectionState, ss *tls.SessionState) ([]byte, error) {
	state, err := ss.Bytes()
	if err != nil {
		return nil, err
	}
	r := k.now.Load()
	return r.inOrder[r.current(k.clock())].seal(state, cs.ServerName)
}

// unwrap returns nothing for a ticket that cannot be used: the handshake is then a full one.
func (k *Keys) unwrap(ticket []byte, cs tls.ConnectionState) (*tls.SessionState, error) {
	s := k.now.Load().find(ticket)
	if s == nil {
		return nil, nil
	}
	state, err := s.open(ticket, cs.ServerName)
	if err != nil {
		return nil, nil
	}
	// A state that is not understood is of another version of Go.
	ss, err := tls.ParseSessionState(state)
	if err != nil {
		return nil, nil
	}
	return ss, nil
}

// watch refreshes the keys at every interval.
func (k *Keys) watch() {
	defer close(k.ended)
	ticker := time.NewTicker(k.interval)
	defer ticker.Stop()
	var failing bool
	var logged time.Time
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-ticker.C:
		}
		err := k.refresh(false)
		if k.ctx.Err() != nil {
			return
		}
		if now := time.Now(); err != nil && now.Sub(logged) >= seldom {
			k.logger.Error("ticket keys cannot be refreshed, the previous ones are kept", "error", err)
			failing, logged = true, now
		}
		if err == nil && failing {
			k.logger.Info("ticket keys are refreshed again")
			failing, logged = false, time.Time{}
		}
	}
}

// refreshUnlocked is refresh that waits for the lock of a file.
func (k *Keys) refreshUnlocked(hurry bool) error {
	for end := time.Now().Add(lockTime); ; {
		err := k.refresh(hurry)
		if !errors.Is(err, errBusy) || time.Now().After(end) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (k *Keys) refresh(hurry bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	// The monotonic clock is that of this process alone.
	keys, err := k.source.refresh(k.clock().Round(0).UTC(), hurry)
	if err != nil {
		return err
	}
	if old := k.now.Load(); old != nil && same(old.keys, keys) {
		return nil
	}
	r, err := newRing(keys)
	if err != nil {
		return err
	}
	k.now.Store(r)
	return nil
}

func same(a, b []key) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].secret != b[i].secret || !a[i].from.Equal(b[i].from) {
			return false
		}
	}
	return true
}

// A random source makes keys for this process alone.
type random struct {
	schedule
	keys []key
}

func (s *random) refresh(now time.Time, hurry bool) ([]key, error) {
	if hurry {
		s.keys = s.hurry(s.keys, now)
	} else {
		s.keys, _ = s.plan(s.keys, now)
	}
	return s.keys, nil
}

// A fetched source asks the user's function.
type fetched struct{ k *Keys }

func (s fetched) refresh(time.Time, bool) ([]key, error) {
	ctx, cancel := context.WithTimeout(s.k.ctx, fetchTime)
	defer cancel()
	secrets, err := s.k.fetch(ctx)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	if len(secrets) > maxKeys {
		secrets = secrets[:maxKeys+1] // which is refused
	}
	keys := make([]key, len(secrets))
	for i, secret := range secrets {
		keys[i].secret = secret // in use from the beginning of time on: the first encrypts
	}
	if err := checkKeys(keys); err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	return keys, nil
}
