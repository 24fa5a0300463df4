package scenario

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rsa"
	_ "crypto/sha256" // for crypto.Hash
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"hash"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// algorithm is one of the algorithms of RFC 7518, section 3.1, or EdDSA of RFC 8037.
type algorithm struct {
	name string
	hash crypto.Hash // 0: the message itself is signed
	size int         // of r and of s; only for ECDSA
}

var algorithms = []algorithm{
	{"HS256", crypto.SHA256, 0},
	{"HS384", crypto.SHA384, 0},
	{"HS512", crypto.SHA512, 0},
	{"RS256", crypto.SHA256, 0},
	{"RS384", crypto.SHA384, 0},
	{"RS512", crypto.SHA512, 0},
	{"ES256", crypto.SHA256, 32},
	{"ES384", crypto.SHA384, 48},
	{"ES512", crypto.SHA512, 66},
	{"EdDSA", 0, 0},
}

// token is a precompiled JWT, RFC 7519. Signatures depend only on key and message (ECDSA as
// in RFC 6979): the same seed and time result in the same bytes.
type token struct {
	alg      algorithm
	head     []byte // encoded, including the dot
	claims   template
	lifetime int64 // seconds; 0: no iat and exp
	secret   []byte
	signer   crypto.Signer
	now      func() time.Time
}

// mac is the state that one user needs to sign.
type mac struct {
	hash    hash.Hash
	scratch []byte
}

// append writes the token. With HMAC it does not allocate after the first use of m.
func (t *token) append(u *User, dst []byte, m *mac) []byte {
	m.scratch = u.render(m.scratch[:0], t.claims)
	if t.lifetime > 0 {
		m.scratch = t.times(m.scratch)
	}
	start := len(dst)
	dst = append(dst, t.head...)
	dst = base64.RawURLEncoding.AppendEncode(dst, m.scratch)
	m.scratch = t.sign(m, m.scratch[:0], dst[start:])
	dst = append(dst, '.')
	return base64.RawURLEncoding.AppendEncode(dst, m.scratch)
}

// times adds iat and exp, RFC 7519, section 4.1, to the end of the claims.
func (t *token) times(claims []byte) []byte {
	now := t.now().Unix()
	claims = claims[:len(claims)-1]
	if len(claims) > 1 {
		claims = append(claims, ',')
	}
	claims = append(claims, `"iat":`...)
	claims = strconv.AppendInt(claims, now, 10)
	claims = append(claims, `,"exp":`...)
	claims = strconv.AppendInt(claims, now+t.lifetime, 10)
	return append(claims, '}')
}

func (t *token) sign(m *mac, dst, message []byte) []byte {
	if m.hash == nil && t.secret != nil {
		m.hash = hmac.New(t.alg.hash.New, t.secret)
	} else if m.hash == nil && t.alg.hash != 0 {
		m.hash = t.alg.hash.New()
	}
	digest := message
	if m.hash != nil {
		m.hash.Reset()
		m.hash.Write(message)
		dst = m.hash.Sum(dst)
		if t.secret != nil {
			return dst
		}
		digest = dst
	}
	// Without a source of randomness RSA and Ed25519 do not change, and ECDSA is
	// deterministic. The keys were tested when they were read.
	sig, err := t.signer.Sign(nil, digest, t.alg.hash)
	if err == nil && t.alg.size > 0 {
		sig, err = plainSignature(sig, t.alg.size)
	}
	if err != nil {
		panic(fmt.Sprintf("scenario: a key that signed before does not sign: %v", err))
	}
	return append(dst[:0], sig...)
}

// plainSignature converts ASN.1 into r and s of fixed size: RFC 7518, section 3.4.
func plainSignature(der []byte, size int) ([]byte, error) {
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &rs); err != nil {
		return nil, err
	}
	out := make([]byte, 2*size)
	rs.R.FillBytes(out[:size])
	rs.S.FillBytes(out[size:])
	return out, nil
}

// token compiles a variable of kind jwt.
func (c *compiler) token(name string, spec *jwtSpec) *token {
	known := make([]string, len(algorithms))
	for i, a := range algorithms {
		known[i] = a.name
	}
	at := slices.Index(known, spec.Algorithm.s)
	if at < 0 {
		c.fail(spec.Line, "write algorithm: with one of "+strings.Join(known, ", "), "variable %q: algorithm %q", name, spec.Algorithm.s)
		return nil
	}
	t := &token{alg: algorithms[at], now: c.o.Now}
	if spec.Lifetime.given() {
		d, err := time.ParseDuration(spec.Lifetime.s)
		if err != nil || d < time.Second {
			c.fail(spec.Lifetime.node.line, "write lifetime: 5m, at least one second", "variable %q: lifetime %q", name, spec.Lifetime.s)
		}
		t.lifetime = int64(d / time.Second)
	}
	c.key(name, spec, t)

	head := []string{`"alg":"` + t.alg.name + `"`, `"typ":"JWT"`}
	if spec.Header != nil {
		head = append(head, c.jose(name, spec.Header.node)...)
	}
	t.head = base64.RawURLEncoding.AppendEncode(nil, []byte("{"+strings.Join(head, ",")+"}"))
	t.head = append(t.head, '.')

	t.claims = template(nil).text("{}")
	if spec.Claims != nil {
		if spec.Claims.kind != mapping {
			c.fail(spec.Claims.line, "write claims: {sub: ${user.name}}", "variable %q: claims are %s", name, spec.Claims.describe())
			return nil
		}
		if t.lifetime > 0 && (spec.Claims.get("iat") != nil || spec.Claims.get("exp") != nil) {
			c.fail(spec.Claims.line, "drop lifetime, or iat and exp", "variable %q: lifetime sets iat and exp, which the claims set as well", name)
		}
		t.claims = (&scope{c: c, tokens: true}).tree(spec.Claims.node)
	}
	return t
}

// jose returns the members of a token's header other than alg and typ.
func (c *compiler) jose(name string, n *node) []string {
	if n.kind != mapping {
		c.fail(n.line, "write header: {kid: one}", "variable %q: header is %s", name, n.describe())
		return nil
	}
	var out []string
	for i, k := range n.keys {
		value, ok := (&scope{c: c, verbatim: true}).tree(n.items[i]).constant()
		if k.name == "alg" || k.name == "typ" || !ok {
			c.fail(k.line, "remove it", "variable %q: header %s is set by algorithm", name, k.name)
			continue
		}
		out = append(out, quote(k.name)+":"+string(value))
	}
	return out
}

// key reads the secret or the private key, and tests it.
func (c *compiler) key(name string, spec *jwtSpec, t *token) {
	if spec.Key.given() == spec.KeyFile.given() {
		c.fail(spec.Line, "write key: for the key itself, or key_file:", "variable %q: it needs exactly one of key and key_file", name)
		return
	}
	data, line := []byte(spec.Key.s), spec.Line
	if spec.KeyFile.given() {
		line = spec.KeyFile.node.line
		var ok bool
		if data, ok = c.read(spec.KeyFile); !ok {
			return
		}
	}
	if strings.HasPrefix(t.alg.name, "HS") {
		if spec.KeyFile.given() {
			data = bytes.TrimRight(data, "\r\n") // a newline added by an editor is not part of the secret
		}
		if len(data) == 0 {
			c.fail(line, "write the secret", "variable %q: an empty key", name)
			return
		}
		t.secret = data
		return
	}
	signer, err := parseKey(data)
	if err == nil {
		err = t.suits(signer)
	}
	if err != nil {
		c.fail(line, "give "+t.alg.name+" a private key in PEM, PKCS #8, PKCS #1 or SEC 1, without a password", "variable %q: %v", name, err)
		return
	}
	t.signer = signer
}

func parseKey(data []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		default:
			continue // parameters of a curve, certificates
		}
		if err != nil {
			return nil, err
		}
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, fmt.Errorf("a key of type %T cannot sign", key)
	}
	return nil, errors.New("no private key in PEM")
}

// suits returns an error if a key does not fit t's algorithm, or does not sign.
func (t *token) suits(signer crypto.Signer) error {
	switch key := signer.(type) {
	case *rsa.PrivateKey:
		if t.alg.name[0] != 'R' {
			return fmt.Errorf("an RSA key for %s", t.alg.name)
		}
	case *ecdsa.PrivateKey:
		if t.alg.size == 0 || t.alg.size != (key.Curve.Params().BitSize+7)/8 {
			return fmt.Errorf("a key on %s for %s", key.Curve.Params().Name, t.alg.name)
		}
	case ed25519.PrivateKey:
		if t.alg.name != "EdDSA" {
			return fmt.Errorf("an Ed25519 key for %s", t.alg.name)
		}
	default:
		return fmt.Errorf("a key of type %T", signer)
	}
	digest := make([]byte, 64)
	if t.alg.hash != 0 {
		digest = digest[:t.alg.hash.Size()]
	}
	_, err := signer.Sign(nil, digest, t.alg.hash)
	return err
}
