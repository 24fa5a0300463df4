package pushjwt_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/redline-go/redline/contrib/pushjwt"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

var secret = []byte("0123456789abcdef0123456789abcdef")

func create(t *testing.T, o pushjwt.Options) *pushjwt.Tokens {
	t.Helper()
	tokens, err := pushjwt.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tokens.Close)
	return tokens
}

// sign makes a token that expires in an hour unless the claims say something else.
func sign(t testing.TB, method jwt.SigningMethod, key any, kid string, claims jwt.MapClaims) string {
	t.Helper()
	all := jwt.MapClaims{"exp": time.Now().Add(time.Hour).Unix()}
	for k, v := range claims {
		all[k] = v
	}
	token := jwt.NewWithClaims(method, all)
	if kid != "" {
		token.Header["kid"] = kid
	}
	s, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func request(method, target, bearer string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	return r
}

func TestVerify(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	tokens := create(t, pushjwt.Options{
		Keys:       map[string]any{"h": secret, "r": &rsaKey.PublicKey},
		Algorithms: []string{"HS256", "RS256"}, Issuer: "us", Audience: "hub",
	})
	good := jwt.MapClaims{"iss": "us", "aud": "hub"}
	with := func(k string, v any) jwt.MapClaims {
		c := jwt.MapClaims{"iss": "us", "aud": "hub"}
		c[k] = v
		return c
	}
	now := time.Now()
	for name, c := range map[string]struct {
		token string
		ok    bool
	}{
		"good HMAC":       {sign(t, jwt.SigningMethodHS256, secret, "h", good), true},
		"good RSA":        {sign(t, jwt.SigningMethodRS256, rsaKey, "r", good), true},
		"several aud":     {sign(t, jwt.SigningMethodHS256, secret, "h", with("aud", []string{"x", "hub"})), true},
		"alg none":        {sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "h", good), false},
		"alg not allowed": {sign(t, jwt.SigningMethodHS512, secret, "h", good), false},
		// The public key of RSA as secret of HMAC (RFC 8725, 2.1).
		"confusion":     {sign(t, jwt.SigningMethodHS256, rsaKey.N.Bytes(), "r", good), false},
		"other key":     {sign(t, jwt.SigningMethodHS256, []byte("another secret of 32 bytes......"), "h", good), false},
		"unknown kid":   {sign(t, jwt.SigningMethodHS256, secret, "x", good), false},
		"no kid":        {sign(t, jwt.SigningMethodHS256, secret, "", good), false},
		"expired":       {sign(t, jwt.SigningMethodHS256, secret, "h", with("exp", now.Add(-time.Hour).Unix())), false},
		"no exp":        {sign(t, jwt.SigningMethodHS256, secret, "h", with("exp", nil)), false},
		"not yet":       {sign(t, jwt.SigningMethodHS256, secret, "h", with("nbf", now.Add(time.Hour).Unix())), false},
		"other issuer":  {sign(t, jwt.SigningMethodHS256, secret, "h", with("iss", "them")), false},
		"other aud":     {sign(t, jwt.SigningMethodHS256, secret, "h", with("aud", "shop")), false},
		"empty":         {"", false},
		"garbage":       {"a.b.c", false},
		"two parts":     {"e30.e30", false},
		"exp not a num": {sign(t, jwt.SigningMethodHS256, secret, "h", with("exp", "tomorrow")), false},
	} {
		err := tokens.Verify(request("GET", "/", c.token), jwt.MapClaims{})
		if (err == nil) != c.ok || err != nil && !errors.Is(err, push.ErrUnauthorized) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestType wants a token of another type, such as one that only says who somebody is, to be
// refused (RFC 8725, 3.11).
func TestType(t *testing.T) {
	tokens := create(t, pushjwt.Options{Keys: map[string]any{"": secret}, Algorithms: []string{"HS256"}, Type: "at+jwt"})
	for kind, ok := range map[string]bool{"at+jwt": true, "application/AT+JWT": true, "JWT": false, "": false} {
		token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"exp": time.Now().Add(time.Hour).Unix()})
		token.Header["typ"] = kind
		s, err := token.SignedString(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := tokens.Verify(request("GET", "/", s), jwt.MapClaims{}); (err == nil) != ok {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

func TestFind(t *testing.T) {
	tokens := create(t, pushjwt.Options{
		Keys: map[string]any{"": secret}, Algorithms: []string{"HS256"},
		Query: "token", Cookie: "session",
	})
	alice := sign(t, jwt.SigningMethodHS256, secret, "", jwt.MapClaims{"sub": "alice"})
	bob := sign(t, jwt.SigningMethodHS256, secret, "", jwt.MapClaims{"sub": "bob"})
	carol := sign(t, jwt.SigningMethodHS256, secret, "", jwt.MapClaims{"sub": "carol"})
	for _, c := range []struct {
		header, query, cookie, want string
	}{
		{"Bearer " + alice, bob, carol, "alice"},
		{"bearer " + alice, "", "", "alice"},
		{"Basic " + alice, bob, carol, ""}, // what was sent counts, not something else
		{"", bob, carol, "bob"},
		{"", "", carol, "carol"},
		{"", "", "", ""},
	} {
		r := request("GET", "/?token="+c.query, "")
		if c.header != "" {
			r.Header.Set("Authorization", c.header)
		}
		if c.cookie != "" {
			r.AddCookie(&http.Cookie{Name: "session", Value: c.cookie})
		}
		if got := tokens.User(r); got != c.want {
			t.Errorf("%.20s: got %q, want %q", c.header, got, c.want)
		}
		if got := tokens.Present(r); got != (c.header+c.query+c.cookie != "") {
			t.Errorf("%.20s: Present is %v", c.header, got)
		}
	}
}

func TestPublish(t *testing.T) {
	tokens := create(t, pushjwt.Options{
		Keys: map[string]any{"": secret}, Algorithms: []string{"HS256"}, Cookie: "session",
		PublishClaim: "push.publish", SubscribeClaim: "push.subscribe", Origins: []string{"https://app.example"},
	})
	token := func(topics any) string {
		return sign(t, jwt.SigningMethodHS256, secret, "", jwt.MapClaims{"push": map[string]any{"publish": topics}})
	}
	for _, c := range []struct {
		topics any
		name   string
		want   error
	}{
		{[]string{"a/*", "b"}, "a/1", nil},
		{[]string{"a/*", "b"}, "b", nil},
		{[]string{"a/*", "b"}, "b/1", pushjwt.ErrForbidden},
		{[]string{"**"}, "any/thing", nil},
		{[]string{}, "b", pushjwt.ErrForbidden},
		{nil, "b", pushjwt.ErrForbidden},
		{"b", "b", pushjwt.ErrForbidden},
		{[]any{"b", 1}, "b", pushjwt.ErrForbidden},
		{[]any{"b", "**/x"}, "b", pushjwt.ErrForbidden},
	} {
		if err := tokens.Publish(request("POST", "/", token(c.topics)), c.name); !errors.Is(err, c.want) {
			t.Errorf("%v for %s: %v, want %v", c.topics, c.name, err, c.want)
		}
	}
	if tokens.Publish(request("POST", "/", token([]string{"**"})), "a/*") == nil {
		t.Error("a pattern was accepted as topic")
	}
	// A cookie comes with a field that says where it comes from.
	for _, c := range []struct {
		name, value string
		ok          bool
	}{
		{"Origin", "http://example.com", true},
		{"Origin", "https://app.example", true},
		{"Origin", "https://evil.example", false},
		{"Accept", "*/*", false},
		{"Referer", "", false},
		{"Referer", "/page", false},
		{"Referer", "https://evil.example/page", false},
		{"Referer", "https://app.example/page?x", true},
		{"Referer", "http://example.com/", true},
		{"Sec-Fetch-Site", "cross-site", false},
		{"Sec-Fetch-Site", "same-origin", true},
	} {
		r := request("POST", "/", "")
		r.AddCookie(&http.Cookie{Name: "session", Value: token([]string{"a"})})
		r.Header.Set(c.name, c.value)
		if err := tokens.Publish(r, "a"); (err == nil) != c.ok {
			t.Errorf("a cookie with %s %q: %v", c.name, c.value, err)
		}
	}
}

// TestHandler wants subscribers to get what their tokens allow, until they expire.
func TestHandler(t *testing.T) {
	for name, serve := range pushtest.Servers {
		t.Run(name, func(t *testing.T) {
			tokens := create(t, pushjwt.Options{Keys: map[string]any{"": secret}, Algorithms: []string{"HS256"}})
			hub := pushtest.Hub(t, push.Options{MaxPerUser: 1, Heartbeat: 100 * time.Millisecond, Lifetime: -1})
			at := serve(t, tokens.Handler(hub))
			as := func(claims jwt.MapClaims) http.Header {
				return http.Header{"Authorization": {"Bearer " + sign(t, jwt.SigningMethodHS256, secret, "", claims)}}
			}
			for want, header := range map[int]http.Header{
				401: nil,
				403: as(jwt.MapClaims{"subscribe": []string{"b"}}),
			} {
				if status, _, _ := pushtest.Refused(t, "GET", at+"?topic=a", header); status != want {
					t.Errorf("got %d, want %d", status, want)
				}
			}
			if status, _, _ := pushtest.Refused(t, "GET", at, as(jwt.MapClaims{"sub": "x"})); status != 403 {
				t.Errorf("no claim: %d", status)
			}
			alice := as(jwt.MapClaims{"sub": "alice", "subscribe": []string{"a", "b/*"}})
			s := pushtest.Open(t, at, pushtest.Query{Header: alice})
			for _, topic := range []string{"a", "c", "b/1"} {
				pushtest.Publish(t, hub, topic, topic)
			}
			s.Want("a", "b/1")
			if status, _, _ := pushtest.Refused(t, "GET", at+"?topic=a", alice); status != 503 {
				t.Errorf("over MaxPerUser: %d", status)
			}
			wantExpired(t, at+"?topic=a", func() http.Header {
				return as(jwt.MapClaims{"subscribe": []string{"a"}, "exp": time.Now().Add(3 * time.Second).Unix()})
			})
			pushtest.Publish(t, hub, "a", "still here")
			s.Want("still here")
		})
	}
}

// TestOnce wants the signature of a request verified once, for topics, user and expiry.
func TestOnce(t *testing.T) {
	for name, serve := range pushtest.Servers {
		t.Run(name, func(t *testing.T) {
			tokens := create(t, pushjwt.Options{Keys: map[string]any{"": secret}, Algorithms: []string{"HS256"}})
			verifications := tokens.Verifications()
			hub := pushtest.Hub(t, push.Options{MaxPerUser: 1})
			at := serve(t, tokens.Handler(hub))
			alice := http.Header{"Authorization": {"Bearer " + sign(t, jwt.SigningMethodHS256, secret, "", jwt.MapClaims{"sub": "alice", "subscribe": []string{"a"}})}}
			pushtest.Open(t, at, pushtest.Query{Header: alice})
			if status, _, _ := pushtest.Refused(t, "GET", at, alice); status != 503 {
				t.Errorf("over MaxPerUser: %d", status)
			}
			if n := verifications.Load(); n != 2 {
				t.Errorf("two requests had %d verifications", n)
			}
		})
	}
}

// A keySet is a JWK Set that a test changes.
type keySet struct {
	fetched atomic.Int64
	keys    atomic.Pointer[map[string]*ecdsa.PrivateKey]
	broken  atomic.Bool
}

func (s *keySet) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.fetched.Add(1)
	if s.broken.Load() {
		http.Error(w, "out of order", http.StatusInternalServerError)
		return
	}
	var keys []map[string]string
	for id, k := range *s.keys.Load() {
		raw, _ := k.PublicKey.Bytes() // 4, X, Y
		keys = append(keys, map[string]string{
			"kty": "EC", "crv": "P-256", "kid": id, "alg": "ES256", "use": "sig",
			"x": base64.RawURLEncoding.EncodeToString(raw[1:33]), "y": base64.RawURLEncoding.EncodeToString(raw[33:]),
		})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"keys": keys})
}

// TestJWKS rotates keys: a new one is accepted when it is first seen, one that was withdrawn
// is not accepted any more, and unknown ones do not cause a fetch each.
func TestJWKS(t *testing.T) {
	set := new(keySet)
	keys := map[string]*ecdsa.PrivateKey{}
	for _, id := range []string{"one", "two", "three"} {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		keys[id] = k
	}
	use := func(ids ...string) {
		m := map[string]*ecdsa.PrivateKey{}
		for _, id := range ids {
			m[id] = keys[id]
		}
		set.keys.Store(&m)
	}
	use("one")
	server := httptest.NewServer(set)
	t.Cleanup(server.Close)
	failed := make(chan error, 1000)
	tokens := create(t, pushjwt.Options{
		JWKS: server.URL, Algorithms: []string{"ES256"}, UnknownKey: time.Hour,
		Client: server.Client(), Failed: func(err error) {
			select {
			case failed <- err:
			default:
			}
		},
	})
	good := func(id string) bool {
		return tokens.Verify(request("GET", "/", sign(t, jwt.SigningMethodES256, keys[id], id, nil)), jwt.MapClaims{}) == nil
	}
	if !good("one") || set.fetched.Load() != 1 {
		t.Fatalf("the first key; fetched %d times", set.fetched.Load())
	}
	use("two")
	if !good("two") || good("one") || good("three") || set.fetched.Load() != 2 {
		t.Errorf("after a rotation: fetched %d times", set.fetched.Load())
	}
	for range 50 {
		good("three")
	}
	if n := set.fetched.Load(); n != 2 {
		t.Errorf("unknown keys had the set fetched %d times", n)
	}

	refreshed := create(t, pushjwt.Options{
		JWKS: server.URL, Algorithms: []string{"ES256"}, Refresh: 20 * time.Millisecond, Client: server.Client(),
		Failed: func(err error) {
			select {
			case failed <- err:
			default:
			}
		},
	})
	set.broken.Store(true)
	<-failed
	token := sign(t, jwt.SigningMethodES256, keys["two"], "two", nil)
	if err := refreshed.Verify(request("GET", "/", token), jwt.MapClaims{}); err != nil {
		t.Errorf("while keys cannot be fetched: %v", err)
	}
	use("three")
	set.broken.Store(false)
	pushtest.Until(t, "the old key is no longer accepted", func() bool {
		return refreshed.Verify(request("GET", "/", token), jwt.MapClaims{}) != nil
	})
}

func TestNew(t *testing.T) {
	keys := map[string]any{"": secret}
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	for want, o := range map[string]pushjwt.Options{
		"Algorithms is empty": {Keys: keys},
		`has "none"`:          {Keys: keys, Algorithms: []string{"none"}},
		`has "ES257"`:         {Keys: keys, Algorithms: []string{"ES257"}},
		"one of":              {Algorithms: []string{"ES256"}},
		"has 3 bytes":         {Keys: map[string]any{"": []byte("abc")}, Algorithms: []string{"HS256"}},
		"is a string":         {Keys: map[string]any{"": "abc"}, Algorithms: []string{"HS256"}},
		"Leeway":              {Keys: keys, Algorithms: []string{"HS256"}, Leeway: time.Hour},
		"negative":            {Keys: keys, Algorithms: []string{"HS256"}, Refresh: -1},
		"Stale is 10m0s":      {JWKS: server.URL, Algorithms: []string{"ES256"}, Stale: 10 * time.Minute},
		"Stale is 2h0m0s":     {JWKS: server.URL, Algorithms: []string{"ES256"}, Refresh: 2 * time.Hour, Stale: 2 * time.Hour},
		"Origins":             {Keys: keys, Algorithms: []string{"HS256"}, Origins: []string{"example.com"}},
		"fetch the keys":      {JWKS: server.URL, Algorithms: []string{"ES256"}, Client: server.Client()},
	} {
		tokens, err := pushjwt.New(t.Context(), o)
		if err == nil {
			tokens.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
