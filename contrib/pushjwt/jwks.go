package pushjwt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

const (
	fetchTimeout   = 10 * time.Second
	fetchBytes     = 1 << 20
	unknownKeyWait = 5 * time.Second
)

// A verifyKey is one of a JWK Set that verifies signatures.
type verifyKey struct {
	id, algorithm string // algorithm may be ""
	key           any
}

// keys are those of one answer.
type keys struct {
	all     []verifyKey
	fetched time.Time
}

// A keySet is a JWK Set that is fetched again and again.
type keySet struct {
	o       *Options
	ctx     context.Context
	unknown *rate.Limiter
	turn    chan struct{} // a place for the one who fetches
	keys    atomic.Pointer[keys]
}

// newKeySet fetches a set, and fetches it again until ctx is done.
func newKeySet(ctx context.Context, o *Options) (*keySet, error) {
	s := &keySet{o: o, ctx: ctx, unknown: rate.NewLimiter(rate.Every(o.UnknownKey), 1), turn: make(chan struct{}, 1)}
	if err := s.fetch(ctx); err != nil {
		return nil, err
	}
	if len(s.usable()) == 0 {
		return nil, fmt.Errorf("%s has no key that verifies signatures", o.JWKS)
	}
	go s.refresh()
	return s, nil
}

func (s *keySet) refresh() {
	tick := time.NewTicker(s.o.Refresh)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		s.turn <- struct{}{}
		err := s.fetch(s.ctx)
		<-s.turn
		if err != nil && s.ctx.Err() == nil {
			s.o.Failed(err)
		}
	}
}

// find returns the keys for a token: that with its ID, or all if it names none.
func (s *keySet) find(t *jwt.Token) (any, error) {
	named, ok := t.Header["kid"]
	if !ok {
		return s.held(t, "", false)
	}
	id, ok := named.(string)
	if !ok {
		return nil, jwt.ErrTokenUnverifiable
	}
	if found, err := s.held(t, id, true); err == nil {
		return found, nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, unknownKeyWait)
	defer cancel()
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, jwt.ErrTokenUnverifiable
	}
	if found, err := s.held(t, id, true); err == nil {
		return found, nil // another request had the same question
	}
	if s.has(id) || s.unknown.Wait(ctx) != nil {
		return nil, jwt.ErrTokenUnverifiable
	}
	if err := s.fetch(ctx); err != nil {
		s.o.Failed(err)
	}
	return s.held(t, id, true)
}

// usable returns the keys, unless they are too old.
func (s *keySet) usable() []verifyKey {
	if k := s.keys.Load(); k != nil && time.Since(k.fetched) <= s.o.Stale {
		return k.all
	}
	return nil
}

func (s *keySet) has(id string) bool {
	return slices.ContainsFunc(s.usable(), func(k verifyKey) bool { return k.id == id })
}

// held returns the keys for a token among those that were fetched.
func (s *keySet) held(t *jwt.Token, id string, named bool) (any, error) {
	var found jwt.VerificationKeySet
	for _, k := range s.usable() {
		if (!named || k.id == id) && (k.algorithm == "" || k.algorithm == t.Method.Alg()) {
			found.Keys = append(found.Keys, k.key)
		}
	}
	if len(found.Keys) == 0 {
		return nil, jwt.ErrTokenUnverifiable
	}
	return found, nil
}

// fetch replaces the keys. An answer that is no JWK Set leaves those that are known.
func (s *keySet) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.o.JWKS, nil)
	if err != nil {
		return err
	}
	resp, err := s.o.Client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s has answered %s", s.o.JWKS, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, fetchBytes+1))
	switch {
	case err != nil:
		return err
	case len(text) > fetchBytes:
		return fmt.Errorf("%s has answered with more than %d bytes", s.o.JWKS, fetchBytes)
	}
	all, err := parseKeys(text)
	if err != nil {
		return fmt.Errorf("%s has answered with no JWK Set: %w", s.o.JWKS, err)
	}
	s.keys.Store(&keys{all, time.Now()})
	return nil
}

// parseKeys returns the keys of a JWK Set that verify signatures: not those for other uses, and none
// that cannot be read (RFC 7517, 4.2, 4.3 and 5).
func parseKeys(text []byte) (all []verifyKey, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	if set.Keys == nil {
		return nil, errors.New("it has no member \"keys\"")
	}
	for _, raw := range set.Keys {
		var head struct {
			ID         string   `json:"kid"`
			Algorithm  string   `json:"alg"`
			Use        string   `json:"use"`
			Operations []string `json:"key_ops"`
		}
		if json.Unmarshal(raw, &head) != nil || head.Use != "" && head.Use != "sig" ||
			head.Operations != nil && !slices.Contains(head.Operations, "verify") {
			continue
		}
		one, err := keyfunc.NewJWKJSON(raw)
		if err != nil {
			continue
		}
		found, err := one.VerificationKeySet(context.Background())
		if err != nil {
			return nil, err
		}
		for _, key := range found.Keys {
			if secret, ok := key.([]byte); !ok || len(secret) >= minSecret {
				all = append(all, verifyKey{head.ID, head.Algorithm, key})
			}
		}
	}
	return all, nil
}
