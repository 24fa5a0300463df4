package scenario

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"strings"
	"sync"
	"testing"
)

var (
	p256, p384, p521 = curve(elliptic.P256()), curve(elliptic.P384()), curve(elliptic.P521())

	_, ed, _ = ed25519.GenerateKey(rand.Reader)

	makeRSA = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })
)

func curve(c elliptic.Curve) *ecdsa.PrivateKey {
	k, err := ecdsa.GenerateKey(c, rand.Reader)
	if err != nil {
		panic(err)
	}
	return k
}

func rsaKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	k, err := makeRSA()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func pemOf(t testing.TB, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// verify checks a token with the standard library, and returns head and claims.
func verify(t *testing.T, token string, hash crypto.Hash, key any) (head, claims map[string]any) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%d parts: %s", len(parts), token)
	}
	raw := make([][]byte, 3)
	for i, p := range parts {
		var err error
		if raw[i], err = base64.RawURLEncoding.DecodeString(p); err != nil {
			t.Fatal(err)
		}
	}
	message := []byte(parts[0] + "." + parts[1])
	digest := message
	if hash != 0 {
		h := hash.New()
		h.Write(message)
		digest = h.Sum(nil)
	}
	sig := raw[2]
	ok := false
	switch key := key.(type) {
	case []byte:
		m := hmac.New(hash.New, key)
		m.Write(message)
		ok = hmac.Equal(m.Sum(nil), sig)
	case *rsa.PrivateKey:
		ok = rsa.VerifyPKCS1v15(&key.PublicKey, hash, digest, sig) == nil
	case *ecdsa.PrivateKey:
		size := (key.Curve.Params().BitSize + 7) / 8
		ok = len(sig) == 2*size && ecdsa.Verify(&key.PublicKey, digest, new(big.Int).SetBytes(sig[:size]), new(big.Int).SetBytes(sig[size:]))
	case ed25519.PrivateKey:
		ok = ed25519.Verify(key.Public().(ed25519.PublicKey), message, sig)
	}
	if !ok {
		t.Fatalf("the signature does not verify: %s", token)
	}
	if err := json.Unmarshal(raw[0], &head); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw[1], &claims); err != nil {
		t.Fatalf("%v: %s", err, raw[1])
	}
	return head, claims
}

func TestTokens(t *testing.T) {
	secret := []byte("correct horse battery staple")
	pkcs1 := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(rsaKey(t))})
	der, err := x509.MarshalECPrivateKey(p256)
	if err != nil {
		t.Fatal(err)
	}
	// openssl writes the curve's parameters before the key.
	sec1 := append(pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{5, 0}}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})...)
	for _, tt := range []struct {
		algorithm string
		file      []byte
		hash      crypto.Hash
		key       any
	}{
		{"HS256", append(secret[:len(secret):len(secret)], '\n'), crypto.SHA256, secret},
		{"HS384", secret, crypto.SHA384, secret},
		{"HS512", secret, crypto.SHA512, secret},
		{"RS256", pemOf(t, rsaKey(t)), crypto.SHA256, rsaKey(t)},
		{"RS384", pkcs1, crypto.SHA384, rsaKey(t)},
		{"RS512", pkcs1, crypto.SHA512, rsaKey(t)},
		{"ES256", sec1, crypto.SHA256, p256},
		{"ES384", pemOf(t, p384), crypto.SHA384, p384},
		{"ES512", pemOf(t, p521), crypto.SHA512, p521},
		{"EdDSA", pemOf(t, ed), 0, ed},
	} {
		text := "variables:\n  n: {counter: 7}\n  who: {value: 'a\"b\u00e9\\'}\n  j:\n    jwt: {algorithm: " + tt.algorithm +
			", key_file: key, header: {kid: one}, claims: {sub: '${who}', n: '${n|raw}', aud: [x, y], deep: {ok: true}}, lifetime: 90s}\n" +
			"flows:\n- name: f\n  steps:\n  - {name: a, url: /, headers: {Authorization: 'Bearer ${j}'}}\n  - {name: b, url: '/?t=${j}'}\n"
		p := compiled(t, text, "key", string(tt.file))
		u := p.User(1, 0, 1)
		target, first := ask(t, u)
		r, _ := parse(t, first)
		head, claims := verify(t, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), tt.hash, tt.key)
		if head["alg"] != tt.algorithm || head["typ"] != "JWT" || head["kid"] != "one" {
			t.Errorf("%s: head %v", tt.algorithm, head)
		}
		if claims["sub"] != "a\"b\u00e9\\" || claims["n"] != 7.0 || claims["iat"] != float64(clock.Unix()) || claims["exp"] != float64(clock.Unix()+90) {
			t.Errorf("%s: claims %v", tt.algorithm, claims)
		}
		u.Answer(target, 200, nil, nil)
		_, second := ask(t, u)
		r, _ = parse(t, second)
		verify(t, r.URL.Query().Get("t"), tt.hash, tt.key)
		if _, again := ask(t, p.User(1, 0, 1)); again != first {
			t.Errorf("%s: the same seed and time, another token", tt.algorithm)
		}
	}
}

// A token is made for each request, unless per: is longer.
func TestTokenPer(t *testing.T) {
	for per, want := range map[string]int{"request": 6, "iteration": 3, "user": 1} {
		p := compiled(t, "variables:\n  id: {uuid: v4, per: request}\n  j: {per: "+per+", jwt: {algorithm: HS256, key: x, claims: {jti: '${id}'}}}\n"+
			"flows:\n- name: f\n  steps:\n  - {name: a, url: '/${j}'}\n  - {name: b, url: '/${j}'}\n")
		u := p.User(1, 0, 1)
		seen := map[string]bool{}
		for range 6 {
			target, wire := ask(t, u)
			r, _ := parse(t, wire)
			seen[r.URL.Path] = true
			u.Answer(target, 200, nil, nil)
		}
		if len(seen) != want {
			t.Errorf("per %s: %d tokens, want %d", per, len(seen), want)
		}
	}
}

func TestEmptyClaims(t *testing.T) {
	p := compiled(t, "variables: {j: {jwt: {algorithm: HS256, key: x, lifetime: 1m}}, k: {jwt: {algorithm: HS256, key: x}}}\ntargets:\n- url: /?j=${j}&k=${k}\n")
	r, _ := parse(t, wire(t, p))
	if _, claims := verify(t, r.URL.Query().Get("j"), crypto.SHA256, []byte("x")); len(claims) != 2 {
		t.Error(claims)
	}
	if _, claims := verify(t, r.URL.Query().Get("k"), crypto.SHA256, []byte("x")); len(claims) != 0 {
		t.Error(claims)
	}
}
