// Package tlsclient is the client side of TLS as a filter of bytes: an event loop drives
// crypto/tls, without a socket and without a goroutine that waits.
//
//	            Write                      out
//	requests ──────────▶ ┌────────────┐ ──────────▶ socket
//	                     │   Filter   │
//	answers  ◀────────── └────────────┘ ◀────────── socket
//	            plain                      Feed
//
// crypto/tls reads from a net.Conn and keeps the errors of a handshake permanently, so the
// bytes of a handshake cannot be supplied piece by piece. Instead it runs in a coroutine
// (iter.Pull): where it would wait for bytes, control returns to the caller of Feed, on the
// same thread, and comes back with the next bytes. There are no locks and no thread
// switches, and the CPU time of a handshake is that of the loop, as in every
// single-threaded client. Once the handshake is complete the coroutine has ended: a
// temporary error of the connection leaves the state of crypto/tls unchanged, even in the
// middle of a record.
//
// # Copies and allocations
//
// Ciphertext is copied once, into the record buffer of crypto/tls, decrypted in place, and
// copied out; plaintext is copied into a record, encrypted in place, and copied out. A
// Write does not allocate. A Feed allocates 24 bytes each time that crypto/tls fills its
// record buffer, which grows to some records, and once more when it finds no more data: two
// or three times for the responses of 32 requests received in one read. A connection keeps
// that buffer, of up to a few times 16 KiB after records of that size.
package tlsclient
