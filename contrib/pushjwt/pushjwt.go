package pushjwt

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/topic"
)

// ErrForbidden: the token is good, but does not allow what was asked for.
var ErrForbidden = errors.New("pushjwt: the token does not allow this")

// Tokens checks the tokens of requests. Its methods may be called by any number of
// goroutines. Their errors wrap [push.ErrUnauthorized] if the request has no good token; what
// exactly is wrong with a token is not for its sender.
type Tokens struct {
	o       Options
	parser  *jwt.Parser
	keys    jwt.Keyfunc
	stop    context.CancelFunc
	foreign *http.CrossOriginProtection
}

// New fetches the keys, which ctx bounds, and keeps fetching them until Close. The error says
// which options cannot be, or why there are no keys.
func New(ctx context.Context, o Options) (*Tokens, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.fill()
	t := &Tokens{o: o, foreign: http.NewCrossOriginProtection()}
	for _, origin := range o.Origins {
		if err := t.foreign.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("pushjwt: Options.Origins: %w", err)
		}
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods(o.Algorithms), jwt.WithExpirationRequired(), jwt.WithLeeway(o.Leeway),
	}
	if o.Issuer != "" {
		options = append(options, jwt.WithIssuer(o.Issuer))
	}
	if o.Audience != "" {
		options = append(options, jwt.WithAudience(o.Audience))
	}
	t.parser = jwt.NewParser(options...)
	live, stop := context.WithCancel(context.Background())
	t.stop = stop
	hurry := context.AfterFunc(ctx, stop)
	var err error
	if t.keys, err = t.o.keys(live); err == nil && !hurry() {
		err = ctx.Err()
	}
	if err != nil {
		stop()
		return nil, err
	}
	t.keys = understood(t.keys)
	return t, nil
}

// understood refuses tokens with extensions that have to be understood (RFC 7515, 4.1.11): there are
// none that are.
func understood(keys jwt.Keyfunc) jwt.Keyfunc {
	return func(t *jwt.Token) (any, error) {
		if _, ok := t.Header["crit"]; ok {
			return nil, jwt.ErrTokenUnverifiable
		}
		return keys(t)
	}
}

// Close ends the fetching of keys.
func (t *Tokens) Close() { t.stop() }

// Handler returns a handler of the hub for subscribers with tokens: they may listen to the
// topics of the claim SubscribeClaim, count as the user "sub", and are asked to connect again
// when the token expires. The claim "jti" names the token for push.Ending.Token: with its expiry as
// Until, it is withdrawn.
func (t *Tokens) Handler(h *push.Hub) *push.Handler {
	p := h.Handler(t.Subscribe)
	p.User = func(r *http.Request) string { return subject(t.verified(r)) }
	p.Until = func(r *http.Request) time.Time { return expiry(t.verified(r)) }
	p.Token = func(r *http.Request) string { return id(t.verified(r)) }
	return p
}

// verified returns the claims of a request whose token was found to be good just before: a
// signature costs more than the rest of the request.
func (t *Tokens) verified(r *http.Request) jwt.MapClaims {
	claims := jwt.MapClaims{}
	text, _ := t.find(r)
	_, _, _ = t.parser.ParseUnverified(text, claims)
	return claims
}

// subject returns the claim "sub", or "".
func subject(claims jwt.MapClaims) string {
	s, _ := claims.GetSubject() // an error: it is no string
	return s
}

// id returns the claim "jti", or "".
func id(claims jwt.MapClaims) string {
	s, _ := claims["jti"].(string)
	return s
}

// expiry returns the claim "exp", or now if it has none.
func expiry(claims jwt.MapClaims) time.Time {
	exp, err := claims.GetExpirationTime()
	if err != nil || exp == nil {
		return time.Now()
	}
	return exp.Time
}

// Verify checks the token of a request, and decodes its claims into a pointer to a type that
// embeds jwt.RegisteredClaims, or into jwt.MapClaims.
func (t *Tokens) Verify(r *http.Request, claims jwt.Claims) error {
	text, _ := t.find(r)
	if text == "" {
		return fmt.Errorf("pushjwt: no token: %w", push.ErrUnauthorized)
	}
	token, err := t.parser.ParseWithClaims(text, claims, t.keys)
	if err == nil {
		err = t.unique(text)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", push.ErrUnauthorized, err)
	}
	if kind, _ := token.Header["typ"].(string); t.o.Type != "" && !strings.EqualFold(strings.TrimPrefix(strings.ToLower(kind), "application/"), t.o.Type) {
		return fmt.Errorf("%w: the token is of type %q, not %s", push.ErrUnauthorized, kind, t.o.Type)
	}
	return nil
}

// find returns the token of a request. automatic: the browser sent it by itself, whatever page
// made the request.
func (t *Tokens) find(r *http.Request) (token string, automatic bool) {
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		kind, token, _ := strings.Cut(values[0], " ")
		if len(values) > 1 || !strings.EqualFold(kind, "Bearer") {
			return "", false
		}
		return strings.TrimSpace(token), false
	}
	if t.o.Query != "" {
		if token := r.URL.Query().Get(t.o.Query); token != "" {
			return token, false
		}
	}
	if t.o.Cookie != "" {
		if c, err := r.Cookie(t.o.Cookie); err == nil {
			return c.Value, true
		}
	}
	return "", false
}

// Present reports whether a request has a token, good or bad.
func (t *Tokens) Present(r *http.Request) bool {
	text, _ := t.find(r)
	return text != "" || r.Header.Get("Authorization") != ""
}

// Safe returns an error that wraps [ErrForbidden] if a page of another origin may have caused
// a request that changes something, with a cookie that it could not read. A request with a cookie
// that does not say where it comes from, by Sec-Fetch-Site, Origin or Referer, is refused too: programs
// send the token in the header Authorization.
func (t *Tokens) Safe(r *http.Request) error {
	if _, automatic := t.find(r); !automatic {
		return nil
	}
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" {
		from, err := url.Parse(r.Referer())
		if err != nil || from.Host == "" {
			return fmt.Errorf("%w: a cookie came without an origin", ErrForbidden)
		}
		r = &http.Request{Method: r.Method, URL: r.URL, Host: r.Host, Header: http.Header{"Origin": {from.Scheme + "://" + from.Host}}}
	}
	if err := t.foreign.Check(r); err != nil {
		return fmt.Errorf("%w: %w", ErrForbidden, err)
	}
	return nil
}

// Subscribe returns what a request may listen to: it is an authorize function of
// push.Hub.Handler.
func (t *Tokens) Subscribe(r *http.Request) (topics []string, err error) {
	claims := jwt.MapClaims{}
	if err := t.Verify(r, claims); err != nil {
		return nil, err
	}
	topics, err = list(claims, t.o.SubscribeClaim)
	if err == nil && len(topics) == 0 {
		err = ErrForbidden
	}
	return topics, err
}

// Publish reports why a request may not publish to a topic: its token has no pattern for it
// in the claim PublishClaim, or is a cookie sent from a page of another origin.
func (t *Tokens) Publish(r *http.Request, name string) error {
	if err := topic.CheckName(name); err != nil {
		return err
	}
	claims := jwt.MapClaims{}
	if err := t.Verify(r, claims); err != nil {
		return err
	}
	if err := t.Safe(r); err != nil {
		return err
	}
	topics, err := list(claims, t.o.PublishClaim)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(topics, func(p string) bool { return topic.Match(p, name) }) {
		return ErrForbidden
	}
	return nil
}

// User returns the claim "sub" of a request's token, or "".
func (t *Tokens) User(r *http.Request) string {
	claims := jwt.MapClaims{}
	if t.Verify(r, claims) != nil {
		return ""
	}
	return subject(claims)
}

// Until returns when a request's token expires: now, if it has just expired.
func (t *Tokens) Until(r *http.Request) time.Time {
	claims := jwt.MapClaims{}
	if t.Verify(r, claims) != nil {
		return time.Now()
	}
	return expiry(claims)
}

// list returns a claim that is a list of topics and patterns. One that is not makes the whole
// list invalid.
func list(claims jwt.MapClaims, name string) ([]string, error) {
	var value any = map[string]any(claims)
	for part := range strings.SplitSeq(name, ".") {
		object, _ := value.(map[string]any)
		value = object[part]
	}
	if value == nil {
		return nil, nil
	}
	items, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("%w: the claim %s is not a list", ErrForbidden, name)
	}
	var topics []string
	for _, item := range items {
		s, ok := item.(string)
		if err := topic.CheckPattern(s); !ok || err != nil {
			return nil, fmt.Errorf("%w: the claim %s has an item that is not a topic", ErrForbidden, name)
		}
		topics = append(topics, s)
	}
	return topics, nil
}
