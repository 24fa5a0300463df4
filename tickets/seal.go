package tickets

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A secret is a ticket key. It does not print itself, in any format.
type secret [32]byte

// Format writes a placeholder. Types with a secret in an unexported field need a Format of
// their own, because fmt calls no methods of such fields.
func (secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "SECRET") }

// MarshalText is Format for encoders.
func (secret) MarshalText() ([]byte, error) { return []byte("SECRET"), nil }

func (k key) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "SECRET since "+k.from.String()) }

func (r ring) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "%d SECRETs", len(r.keys)) }

// newSecret makes a key at random.
func newSecret() (s secret) {
	_, _ = rand.Read(s[:]) // it never fails
	return s
}

// Sizes of the parts of a ticket, in bytes:
//
//	key's ID │ first nonce │ second nonce │ state, encrypted │ tag
//	       8            12             12                n    16
const (
	idSize    = 8
	nonceSize = 12
	overhead  = idSize + 2*nonceSize + 16
)

// A sealer encrypts and decrypts tickets with one key: XAES-256-GCM, as
// c2sp.org/XAES-256-GCM specifies it. Each ticket has a key of its own for AES-GCM, which is
// derived from the first nonce. Random nonces of 96 bits alone would be safe for only 2^32
// tickets of one key (NIST SP 800-38D, section 8.3), which a fleet issues in hours.
type sealer struct {
	id     [idSize]byte // tells which key a ticket is encrypted with
	block  cipher.Block
	subkey [aes.BlockSize]byte // K1 of CMAC (NIST SP 800-38B, section 6.1)
}

// newSealer derives what a key needs: ID and encryption key are independent (RFC 5869).
func newSealer(key secret) (*sealer, error) {
	id, err := hkdf.Expand(sha256.New, key[:], "redline ticket: id of the key", idSize)
	if err != nil {
		return nil, err
	}
	encryption, err := hkdf.Expand(sha256.New, key[:], "redline ticket: encryption", 32)
	if err != nil {
		return nil, err
	}
	s, err := newXAES(encryption)
	if err != nil {
		return nil, err
	}
	copy(s.id[:], id)
	return s, nil
}

// newXAES prepares the derivation of keys from a key of 32 bytes.
func newXAES(key []byte) (*sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	s := &sealer{block: block}
	block.Encrypt(s.subkey[:], s.subkey[:])
	carry := byte(0)
	for i := len(s.subkey) - 1; i >= 0; i-- {
		carry, s.subkey[i] = s.subkey[i]>>7, s.subkey[i]<<1|carry
	}
	s.subkey[len(s.subkey)-1] ^= carry * 0x87
	return s, nil
}

// aead returns AES-GCM with the key of a first nonce. It puts the second nonce before what
// it encrypts.
func (s *sealer) aead(nonce []byte) (cipher.AEAD, error) {
	var key [2 * aes.BlockSize]byte
	for i := range 2 {
		part := key[i*aes.BlockSize:][:aes.BlockSize]
		copy(part, []byte{0, byte(i + 1), 'X', 0})
		copy(part[4:], nonce)
		for j := range part {
			part[j] ^= s.subkey[j]
		}
		s.block.Encrypt(part, part)
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal encrypts a session's state for connections to a server name.
func (s *sealer) seal(state []byte, name string) ([]byte, error) {
	ticket := make([]byte, idSize+nonceSize, len(state)+overhead)
	copy(ticket, s.id[:])
	nonce := ticket[idSize:]
	_, _ = rand.Read(nonce) // it never fails
	aead, err := s.aead(nonce)
	if err != nil {
		return nil, err
	}
	return aead.Seal(ticket, nil, state, bind(name)), nil
}

// errTicket is the error of all tickets that cannot be decrypted.
var errTicket = errors.New("ticket is malformed, or of another key or server name")

// open decrypts a ticket whose key's ID is that of s.
func (s *sealer) open(ticket []byte, name string) ([]byte, error) {
	if len(ticket) < overhead {
		return nil, errTicket
	}
	aead, err := s.aead(ticket[idSize : idSize+nonceSize])
	if err != nil {
		return nil, err
	}
	state, err := aead.Open(nil, nil, ticket[idSize+nonceSize:], bind(name))
	if err != nil {
		return nil, errTicket
	}
	return state, nil
}

// bind returns what is authenticated with a ticket: a session is not resumed under
// another name (RFC 6066, section 3).
func bind(name string) []byte { return []byte("redline ticket 1: " + strings.ToLower(name)) }

// A ring is the keys in use at a time; it never changes.
type ring struct {
	keys    []key // newest first, or as the source orders them
	sealers map[[idSize]byte]*sealer
	inOrder []*sealer // of keys
}

func newRing(keys []key) (*ring, error) {
	r := &ring{keys: keys, sealers: make(map[[idSize]byte]*sealer, len(keys))}
	for _, k := range keys {
		s, err := newSealer(k.secret)
		if err != nil {
			return nil, err
		}
		r.sealers[s.id] = s
		r.inOrder = append(r.inOrder, s)
	}
	return r, nil
}

// find returns the sealer whose key a ticket is encrypted with, or nil.
func (r *ring) find(ticket []byte) *sealer {
	if len(ticket) < overhead {
		return nil
	}
	return r.sealers[[idSize]byte(ticket)]
}
