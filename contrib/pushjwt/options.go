package pushjwt

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Options say which tokens are good, and where they are found. Algorithms and one of JWKS and
// Keys are required.
type Options struct {
	// JWKS is the URL of a JWK Set (RFC 7517). It is fetched by New, again each Refresh, and
	// when a token names a key that is not known, which may happen once each UnknownKey. Keys
	// whose "use" or "key_ops" do not allow to verify signatures are left out, and those that
	// cannot be read. A set without keys withdraws all.
	JWKS string
	// Keys are the keys by their ID (the header field "kid"); the key with the ID "" is for
	// tokens that name none. A key is an *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey,
	// or a []byte of 32 bytes and more for the algorithms HS256, HS384 and HS512.
	Keys map[string]any
	// Algorithms are those that tokens may be signed with, such as "ES256". "none" is never
	// allowed.
	Algorithms []string
	// Issuer and Audience, if they are set, have to be those of the token ("iss", "aud").
	Issuer, Audience string
	// Type, if it is set, has to be that of the token's header ("typ"), such as "at+jwt" for
	// access tokens (RFC 9068).
	Type string

	// A token comes in the header Authorization as a Bearer token (RFC 6750, 2.1), in the
	// query parameter with the name Query, or in the cookie with the name Cookie. The first
	// one found counts. Without a name, there is none. What is in a query appears in logs.
	Query, Cookie string
	// Origins are the origins whose pages may publish with a token in a cookie, besides those
	// of the same origin, such as "https://example.com".
	Origins []string

	// SubscribeClaim and PublishClaim are the claims with lists of topics and patterns; a dot
	// goes into an object. Defaults: "subscribe" and "publish".
	SubscribeClaim, PublishClaim string

	// Leeway is by how much clocks may differ. Default: none. At most five minutes.
	Leeway time.Duration
	// Refresh is after which time keys are fetched again, so that one that was withdrawn is no
	// longer accepted. Default: an hour.
	Refresh time.Duration
	// Stale is for how long keys stay in use if they cannot be fetched again. More than Refresh.
	// Default: a day, or twice Refresh if that is more.
	Stale time.Duration
	// UnknownKey bounds how often tokens with unknown keys have the keys fetched. Default: 30
	// seconds. A request waits for it at most five seconds, and gets 401 then.
	UnknownKey time.Duration
	// Client fetches the keys. Default: http.DefaultClient. Each request may take ten seconds,
	// and the answer have 1 MiB.
	Client *http.Client
	// Failed is told why keys could not be fetched again.
	Failed func(error)
}

// minSecret is how long a secret is at least, in bytes, as RFC 7518, 3.2 has it for HS256.
const minSecret = 32

const defaultRefresh = time.Hour

func (o *Options) check() error {
	var errs []error
	bad := func(text string, args ...any) { errs = append(errs, fmt.Errorf("pushjwt: "+text, args...)) }
	if len(o.Algorithms) == 0 {
		bad("Options.Algorithms is empty: name those that your tokens are signed with, such as ES256")
	}
	for _, a := range o.Algorithms {
		if strings.EqualFold(a, "none") || !slices.Contains(jwt.GetAlgorithms(), a) {
			bad("Options.Algorithms has %q: use algorithms such as ES256, EdDSA, RS256", a)
		}
	}
	if (o.JWKS == "") == (len(o.Keys) == 0) {
		bad("set one of Options.JWKS and Options.Keys")
	}
	for id, key := range o.Keys {
		switch k := key.(type) {
		case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
		case []byte:
			if len(k) < minSecret {
				bad("the key %q of Options.Keys has %d bytes: use %d or more", id, len(k), minSecret)
			}
		default:
			bad("the key %q of Options.Keys is a %T: use a public key or a []byte", id, key)
		}
	}
	if o.Leeway < 0 || o.Leeway > 5*time.Minute {
		bad("Options.Leeway is %v: use 0 to 5m", o.Leeway)
	}
	if o.Refresh < 0 || o.UnknownKey < 0 || o.Stale < 0 {
		bad("Options.Refresh, Options.Stale and Options.UnknownKey must not be negative")
	}
	if refresh := cmp.Or(o.Refresh, defaultRefresh); o.Stale > 0 && o.Stale <= refresh {
		bad("Options.Stale is %v: keys are fetched each %v (Options.Refresh), use more", o.Stale, refresh)
	}
	return errors.Join(errs...)
}

func (o *Options) fill() {
	defaults := func(field *time.Duration, d time.Duration) {
		if *field == 0 {
			*field = d
		}
	}
	defaults(&o.Refresh, defaultRefresh)
	defaults(&o.UnknownKey, 30*time.Second)
	defaults(&o.Stale, max(24*time.Hour, 2*min(o.Refresh, math.MaxInt64/2)))
	if o.SubscribeClaim == "" {
		o.SubscribeClaim = "subscribe"
	}
	if o.PublishClaim == "" {
		o.PublishClaim = "publish"
	}
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
}

// keys returns the function that finds the key of a token. ctx ends fetching.
func (o *Options) keys(ctx context.Context) (jwt.Keyfunc, error) {
	if o.JWKS == "" {
		return o.given, nil
	}
	s, err := newKeySet(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("pushjwt: fetch the keys: %w", err)
	}
	return s.find, nil
}

func (o *Options) given(t *jwt.Token) (any, error) {
	id, _ := t.Header["kid"].(string)
	if key, ok := o.Keys[id]; ok {
		return key, nil
	}
	return nil, jwt.ErrTokenUnverifiable
}
