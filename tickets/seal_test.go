package tickets

import (
	"bytes"
	"crypto/tls"
	"encoding/hex"
	"testing"
	"time"
)

// TestXAES decrypts the vectors of c2sp.org/XAES-256-GCM: one for each value of the bit
// that decides how the subkey is made.
func TestXAES(t *testing.T) {
	nonce := []byte("ABCDEFGHIJKLMNOPQRSTUVWX")
	for _, c := range []struct {
		key             byte
		data, want, hex string
	}{
		{1, "", "XAES-256-GCM", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"},
		{3, "c2sp.org/XAES-256-GCM", "XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"},
	} {
		s, err := newXAES(bytes.Repeat([]byte{c.key}, 32))
		if err != nil {
			t.Fatal(err)
		}
		text, err := hex.DecodeString(c.hex)
		if err != nil {
			t.Fatal(err)
		}
		aead, err := s.aead(nonce[:nonceSize])
		if err != nil {
			t.Fatal(err)
		}
		got, err := aead.Open(nil, nil, append(bytes.Clone(nonce[nonceSize:]), text...), []byte(c.data))
		if err != nil || string(got) != c.want {
			t.Errorf("key %d: %q, %v", c.key, got, err)
		}
	}
}

// TestDamaged changes every bit of a ticket.
func TestDamaged(t *testing.T) {
	k := newKeys(t)
	ticket := k.seal(t)
	if !k.accepts(ticket) {
		t.Fatal("the ticket is refused")
	}
	for i := range 8 * len(ticket) {
		bad := bytes.Clone(ticket)
		bad[i/8] ^= 1 << (i % 8)
		if k.accepts(bad) {
			t.Fatalf("a ticket with another bit %d is accepted", i)
		}
	}
	for n := range ticket {
		if k.accepts(ticket[:n]) {
			t.Fatalf("%d bytes of a ticket are accepted", n)
		}
	}
	if other := k.seal(t); bytes.Equal(other[idSize:][:2*nonceSize], ticket[idSize:][:2*nonceSize]) {
		t.Error("two tickets have the same nonces")
	}
}

// FuzzTicket decodes tickets of clients: with keys, with a cache, and as a state that
// decrypts but is not one.
func FuzzTicket(f *testing.F) {
	k, cache := newKeys(f), NewCache(MinCache)
	sealed := k.seal(f)
	f.Add(sealed)
	f.Add(sealed[:overhead])
	f.Add(cache.store("a.test", []byte("state"), time.Now()))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, ticket []byte) {
		if k.accepts(ticket) && !bytes.Equal(ticket, sealed) {
			t.Error("a ticket is accepted that was never made")
		}
		r := k.now.Load()
		state, err := r.inOrder[0].seal(ticket, "a.test")
		if err != nil {
			t.Fatal(err)
		}
		if back, err := r.find(state).open(state, "a.test"); err != nil || !bytes.Equal(back, ticket) {
			t.Errorf("sealed %x, opened %x, %v", ticket, back, err)
		}
		for _, identity := range [][]byte{ticket, state, cache.store("a.test", ticket, time.Now())} {
			for _, unwrap := range []unwrapFunc{k.unwrap, cache.unwrap} {
				if _, err := unwrap(identity, tls.ConnectionState{ServerName: "a.test"}); err != nil {
					t.Errorf("an error would end the handshake: %v", err)
				}
			}
		}
	})
}
