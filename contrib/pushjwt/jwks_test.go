package pushjwt_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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

func ecKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// jwk returns a key with members besides those of its kind.
func jwk(t *testing.T, id string, k *ecdsa.PrivateKey, more map[string]any) map[string]any {
	t.Helper()
	raw, err := k.PublicKey.Bytes() // 4, X, Y
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{
		"kty": "EC", "crv": "P-256", "kid": id,
		"x": base64.RawURLEncoding.EncodeToString(raw[1:33]), "y": base64.RawURLEncoding.EncodeToString(raw[33:]),
	}
	for name, v := range more {
		m[name] = v
	}
	return m
}

// A text is an answer that a test changes.
type text struct{ atomic.Value }

func (a *text) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write(a.Load().([]byte))
}

func (a *text) set(t *testing.T, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	a.Store(b)
}

// TestJWKSAnswers wants answers that are no JWK Set (RFC 7517, 5) to leave the keys that are known, and
// to be told; and a set without keys to withdraw them.
func TestJWKSAnswers(t *testing.T) {
	key := ecKey(t)
	good := map[string]any{"keys": []any{jwk(t, "1", key, nil)}}
	for name, answer := range map[string]string{
		"no member": `{}`, "null": `{"keys":null}`, "no list": `{"keys":{}}`, "list": `[]`, "HTML": `<html>maintenance`,
		"nothing": ``, "an error": `{"error":"unavailable"}`, "cut off": `{"keys":[`, "too long": `{"keys":[],"x":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			set := new(text)
			set.set(t, good)
			server := httptest.NewServer(set)
			t.Cleanup(server.Close)
			failed := make(chan error)
			tokens := create(t, pushjwt.Options{
				JWKS: server.URL, Algorithms: []string{"ES256"}, Refresh: 10 * time.Millisecond, Client: server.Client(),
				Failed: func(err error) {
					select {
					case failed <- err:
					case <-t.Context().Done():
					}
				},
			})
			token := sign(t, jwt.SigningMethodES256, key, "1", nil)
			set.Store([]byte(answer))
			for range 2 {
				select {
				case <-failed:
				case <-time.After(pushtest.Patience):
					t.Fatal("the answer was accepted")
				}
			}
			if err := tokens.Verify(request("GET", "/", token), jwt.MapClaims{}); err != nil {
				t.Errorf("a known key: %v", err)
			}
			set.set(t, map[string]any{"keys": []any{}})
			pushtest.Until(t, "the keys are withdrawn", func() bool {
				select {
				case <-failed: // of an answer from before
				default:
				}
				return tokens.Verify(request("GET", "/", token), jwt.MapClaims{}) != nil
			})
			if tokens, err := pushjwt.New(t.Context(), pushjwt.Options{JWKS: server.URL, Algorithms: []string{"ES256"}, Client: server.Client()}); err == nil {
				tokens.Close()
				t.Error("New has no keys, and succeeds")
			}
		})
	}
}

// TestJWKSStale wants keys that cannot be fetched again to be given up at last.
func TestJWKSStale(t *testing.T) {
	key := ecKey(t)
	set := new(text)
	set.set(t, map[string]any{"keys": []any{jwk(t, "1", key, nil)}})
	server := httptest.NewServer(set)
	t.Cleanup(server.Close)
	tokens := create(t, pushjwt.Options{
		JWKS: server.URL, Algorithms: []string{"ES256"}, Refresh: 10 * time.Millisecond, Stale: time.Second, Client: server.Client(),
	})
	set.Store([]byte(`{}`))
	for _, kid := range []string{"1", ""} {
		token := sign(t, jwt.SigningMethodES256, key, kid, nil)
		pushtest.Until(t, "the key is given up", func() bool {
			return tokens.Verify(request("GET", "/", token), jwt.MapClaims{}) != nil
		})
	}
	set.set(t, map[string]any{"keys": []any{jwk(t, "1", key, nil)}})
	token := sign(t, jwt.SigningMethodES256, key, "1", nil)
	pushtest.Until(t, "the key is fetched again", func() bool {
		return tokens.Verify(request("GET", "/", token), jwt.MapClaims{}) == nil
	})
}

// TestJWKSUses wants keys to verify only what they are for (RFC 7517, 4.2 to 4.4), whether or not a
// token names one, and one that cannot be read to harm no other.
func TestJWKSUses(t *testing.T) {
	keys := map[string]*ecdsa.PrivateKey{}
	var all []any
	for id, more := range map[string]map[string]any{
		"plain":     nil,
		"sig":       {"use": "sig", "alg": "ES256"},
		"verify":    {"key_ops": []string{"verify"}},
		"enc":       {"use": "enc"},
		"unknown":   {"use": "tls"},
		"signs":     {"key_ops": []string{"sign"}},
		"none":      {"key_ops": []string{}},
		"other alg": {"alg": "ECDH-ES"},
	} {
		keys[id] = ecKey(t)
		all = append(all, jwk(t, id, keys[id], more))
	}
	keys["broken"] = ecKey(t)
	all = append(all, 1, nil, map[string]any{}, map[string]any{"kty": "PQ"}, jwk(t, "broken", keys["broken"], map[string]any{"x": "AA"}),
		map[string]any{"kty": "oct", "kid": "short", "k": base64.RawURLEncoding.EncodeToString([]byte("short"))})
	set := new(text)
	set.set(t, map[string]any{"keys": all})
	server := httptest.NewServer(set)
	t.Cleanup(server.Close)
	tokens := create(t, pushjwt.Options{JWKS: server.URL, Algorithms: []string{"ES256", "HS256"}, UnknownKey: time.Hour, Client: server.Client()})
	good := map[string]bool{"plain": true, "sig": true, "verify": true}
	for id, key := range keys {
		for _, kid := range []string{id, ""} {
			err := tokens.Verify(request("GET", "/", sign(t, jwt.SigningMethodES256, key, kid, nil)), jwt.MapClaims{})
			if (err == nil) != good[id] {
				t.Errorf("the key %q, named %q: %v", id, kid, err)
			}
		}
	}
	for _, kid := range []string{"short", ""} {
		if tokens.Verify(request("GET", "/", sign(t, jwt.SigningMethodHS256, []byte("short"), kid, nil)), jwt.MapClaims{}) == nil {
			t.Errorf("a secret of five bytes was accepted, named %q", kid)
		}
	}
}

// signText signs claims as their issuer's text.
func signText(t *testing.T, text string) string {
	t.Helper()
	head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(text))
	signature, err := jwt.SigningMethodHS256.Sign(head, secret)
	if err != nil {
		t.Fatal(err)
	}
	return head + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// TestHeader has tokens whose header asks for what is not understood (RFC 7515, 4.1.11), or is an attack.
func TestHeader(t *testing.T) {
	tokens := create(t, pushjwt.Options{Keys: map[string]any{"": secret}, Algorithms: []string{"HS256"}})
	signed := func(change map[string]any, claims jwt.MapClaims) string {
		token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
		for name, v := range change {
			token.Header[name] = v
		}
		s, err := token.SignedString(secret)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	exp := time.Now().Add(time.Hour).Unix()
	claims := jwt.MapClaims{"exp": exp}
	raw := func(text string) string { return signText(t, text) }
	none := func(alg string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(`{`+alg+`"typ":"JWT"}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"exp":9999999999}`)) + "."
	}
	for name, c := range map[string]struct {
		token string
		ok    bool
	}{
		"good":                  {signed(nil, claims), true},
		"an extension, ignored": {signed(map[string]any{"x": 1}, claims), true},
		"crit":                  {signed(map[string]any{"crit": []string{"x"}, "x": 1}, claims), false},
		"crit b64":              {signed(map[string]any{"crit": []string{"b64"}, "b64": false}, claims), false},
		"crit, empty":           {signed(map[string]any{"crit": []string{}}, claims), false},
		"crit, null":            {signed(map[string]any{"crit": nil}, claims), false},
		"alg none":              {none(`"alg":"none",`), false},
		"alg None":              {none(`"alg":"None",`), false},
		"no alg":                {none(``), false},
		"many dots":             {strings.Repeat(".", 100_000), false},
		"encrypted":             {"e30..e30.e30.e30", false},
		"exp 0":                 {signed(nil, jwt.MapClaims{"exp": 0}), false},
		"exp text":              {signed(nil, jwt.MapClaims{"exp": "9999999999"}), false},
		"aud, wrong type":       {signed(nil, jwt.MapClaims{"exp": exp, "aud": 1}), true}, // Audience is not set
		"exp twice":             {raw(`{"exp":1,"exp":9999999999}`), false},
		"exp in two cases":      {raw(`{"exp":1,"EXP":9999999999}`), false},
		"sub in two cases":      {raw(`{"exp":9999999999,"sub":"a","Sub":"root"}`), false},
		"escaped":               {raw(`{"exp":9999999999,"sub":"a","\u0073ub":"root"}`), false},
		"long s":                {raw(`{"exp":9999999999,"sub":"a","\u017fub":"root"}`), false},
		"Kelvin":                {raw(`{"exp":9999999999,"key":"a","\u212aey":"root"}`), false},
		"sharp s":               {raw(`{"exp":9999999999,"\u00df":1,"ss":2}`), true}, // two letters are not one
		"nested":                {raw(`{"exp":9999999999,"push":{"publish":[],"Publish":["**"]}}`), false},
		"a list of objects":     {raw(`{"exp":9999999999,"x":[{"a":1},{"a":2}]}`), true},
		"the application's":     {raw(`{"exp":9999999999,"x":{"y":{"a":1,"A":2}}}`), true},
	} {
		err := tokens.Verify(request("GET", "/", c.token), jwt.MapClaims{})
		if (err == nil) != c.ok || err != nil && !errors.Is(err, push.ErrUnauthorized) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := create(t, pushjwt.Options{Keys: map[string]any{"": secret}, Algorithms: []string{"HS256"}, Audience: "hub"})
	for _, aud := range []any{1, nil, []any{1}, []any{"hub", 1}, map[string]any{"hub": 1}, ""} {
		if other.Verify(request("GET", "/", signed(nil, jwt.MapClaims{"exp": exp, "aud": aud})), jwt.MapClaims{}) == nil {
			t.Errorf("the audience %v was accepted", aud)
		}
	}
	// A name in another case is another name (RFC 7519, 4), also for the user.
	r := request("GET", "/", raw(`{"exp":9999999999,"Sub":"root"}`))
	if got := tokens.User(r); got != "" {
		t.Errorf("the user is %q", got)
	}
}
