// Package tlsc is the client side of TLS as a filter of bytes: crypto/tls driven
// by an event loop, without a socket and without a goroutine that waits.
//
//	            Write                      out
//	requests ──────────▶ ┌────────────┐ ──────────▶ socket
//	                     │    Conn    │
//	answers  ◀────────── └────────────┘ ◀────────── socket
//	            plain                      Feed
//
// crypto/tls reads from a net.Conn and keeps the errors of a handshake for good, so
// that a handshake cannot be given its bytes bit by bit. It runs in a coroutine
// instead (iter.Pull): where it would wait for bytes, control goes back to the
// caller of Feed, on the same thread, and returns with the next bytes. No lock, no
// hand-over between threads, and what a handshake calculates is the loop's own CPU
// time, as it is in every client with one thread. Once the handshake is done the
// coroutine has ended: an error of the connection that calls itself temporary
// leaves crypto/tls where it was, in the middle of a record even.
//
// # Copies and allocations
//
// Ciphertext is copied once, into the record buffer of crypto/tls, decrypted in
// place, and copied out; plaintext is copied into a record, encrypted in place, and
// copied out. A Write allocates nothing. A Feed allocates 24 bytes each time that
// crypto/tls fills its record buffer, which grows to some records, and once more
// when it finds no more: two or three times for the answers of 32 requests that came
// in one read. A connection keeps that buffer, of up to a few times 16 KiB after
// records of that size.
package tlsc
