package certs

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

// DefaultInterval is how often the files are looked at without [Interval].
const DefaultInterval = 5 * time.Second

// An Option changes what [Load] does.
type Option func(*Reloader)

// Pair adds a pair of PEM files. The first pair, which [Load] names, is the default for
// clients that ask for no name or for an unknown one.
func Pair(certFile, keyFile string) Option {
	return func(r *Reloader) { r.pairs = append(r.pairs, &pair{certFile: certFile, keyFile: keyFile}) }
}

// Interval sets how often the files are looked at. [Load] refuses less than a millisecond.
func Interval(d time.Duration) Option { return func(r *Reloader) { r.interval = d } }

// Logger sets where changes, unusable files and expiry are logged. The default is
// [slog.Default].
func Logger(l *slog.Logger) Option { return func(r *Reloader) { r.logger = l } }

// A Reloader has the certificates of one or several pairs of files, and keeps them up to
// date until it is closed. All methods may be called by several goroutines at a time.
type Reloader struct {
	interval time.Duration
	logger   *slog.Logger
	now      atomic.Pointer[set]

	mu    sync.Mutex // held while files are read
	pairs []*pair

	stop  func()
	ended chan struct{}
}

// Load reads a pair of PEM files, and the pairs of the options. Each certificate file
// contains the server's certificate and then its intermediates. The error names the file
// that cannot be used. Load starts a goroutine, which ends with Close.
func Load(certFile, keyFile string, o ...Option) (*Reloader, error) {
	r := &Reloader{interval: DefaultInterval, logger: slog.Default(), ended: make(chan struct{})}
	Pair(certFile, keyFile)(r)
	for _, option := range o {
		option(r)
	}
	if r.interval < time.Millisecond {
		return nil, fmt.Errorf("certs: interval of %v: use at least a millisecond", r.interval)
	}
	if r.logger == nil {
		r.logger = slog.Default()
	}
	if err := r.check(true); err != nil {
		return nil, err
	}
	stop := make(chan struct{})
	r.stop = sync.OnceFunc(func() { close(stop) })
	go r.watch(stop)
	return r, nil
}

// Close ends the goroutine that looks at the files, and waits for it. The certificates in
// use can be served after that, and Reload still reads. The error is always nil.
func (r *Reloader) Close() error {
	r.stop()
	<-r.ended
	return nil
}

// Reload reads all files now, whether they seem changed or not. Every pair that can be used
// is used from the next handshake on, and for every other the previous one is kept. The
// error names the files that could not be used; it is not logged.
func (r *Reloader) Reload() error { return r.check(true) }

// NotAfter returns when the first of the certificates in use expires. Only the servers'
// own certificates count, not their intermediates.
func (r *Reloader) NotAfter() time.Time {
	var first time.Time
	for _, c := range r.now.Load().all {
		if first.IsZero() || c.Leaf.NotAfter.Before(first) {
			first = c.Leaf.NotAfter
		}
	}
	return first
}

// GetCertificate returns the certificate for a client; it is the function for
// tls.Config.GetCertificate. The certificate is shared and must not be changed. The error
// is always nil.
func (r *Reloader) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return r.now.Load().choose(hello), nil
}

// watch looks at the files at every interval.
func (r *Reloader) watch(stop <-chan struct{}) {
	defer close(r.ended)
	ticker := time.NewTicker(r.interval)
	defer ticker.Stop()
	for {
		r.expiry(time.Now())
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		// What is wrong is in the log, by pair.report.
		_ = r.check(false)
	}
}

// check reads the files that have changed, or all of them. The error joins those of all
// pairs.
func (r *Reloader) check(all bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	changed := false
	for _, p := range r.pairs {
		fresh, err := p.load(all)
		changed = changed || fresh
		if err != nil {
			err = fmt.Errorf("certs: load %s with %s: %w", p.certFile, p.keyFile, err)
			errs = append(errs, err)
		}
		if !all {
			p.report(r.logger, time.Now(), fresh, err)
		}
	}
	if err := errors.Join(errs...); err != nil && r.now.Load() == nil {
		return err
	}
	if changed {
		r.now.Store(newSet(r.pairs))
	}
	return errors.Join(errs...)
}

// expiry logs certificates in use that have expired, or expire within a day.
func (r *Reloader) expiry(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pairs {
		left := p.cert.Leaf.NotAfter.Sub(now)
		state, level := "", slog.LevelWarn
		switch {
		case left <= 0:
			state, level = "certificate has expired: renew it", slog.LevelError
		case left <= 24*time.Hour:
			state = "certificate expires within a day: renew it"
		}
		if state != "" && (state != p.state || now.Sub(p.stateAt) >= again) {
			p.stateAt = now
			r.logger.Log(context.Background(), level, state, "file", p.certFile, "notAfter", p.cert.Leaf.NotAfter)
		}
		p.state = state
	}
}
