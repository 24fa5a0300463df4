// Package tlsio puts TLS between a transport and a session: a [Session] implements
// [transport.Session] towards the transport, and a [Conn], which implements
// [transport.Conn], towards the session of the protocol inside. Neither of them notices
// anything. Package crypto/tls does all of the cryptography.
//
//	transport ── ciphertext ──▶ Session ── plaintext ──▶ inner session
//	          ◀── records ─────         ◀── output ─────
//
// A *tls.Conn reads from and writes to a wire: a net.Conn in memory, whose Read returns a
// temporary error when there is no input. After the handshake crypto/tls does not keep such
// an error, so that it can be called again when more input has arrived. During the
// handshake it would keep it. So the handshake runs on a goroutine of its own, with a wire
// that waits: see [Handshakes].
//
// Plaintext that the inner session does not consume stays with the Session, which then
// leaves one byte of ciphertext, the token, unconsumed with the transport. So the
// transport's rules for feeding again apply to the inner session.
//
// Output of the inner session is encrypted when its call has returned, or flushes: many
// small answers leave in one record. No more than Config.HighWater bytes of records and one
// record wait for a client; output beyond that is not encrypted yet, counts as pending, and
// follows when the records have been sent. A close that the inner session has requested
// waits for it.
package tlsio
