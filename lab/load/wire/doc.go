// Package wire is what lies between the socket of a connection and its protocol where
// that is not HTTP/1.1 in clear, which needs nothing there:
//
//	requests of HTTP/1.1 ────────────┐
//	requests of HTTP/2 ──▶ frames ───┴─▶ TLS ──▶ pending ──▶ socket
//	plaintext ◀──────────────────────── TLS ◀── Receive ◀── socket
//	                       (or neither)
//
// A [Conn] makes the TLS handshake and begins HTTP/2, encrypts what is to be sent and
// decrypts what came, and keeps what the socket did not take. It has no loop: who
// reads, waits and closes, what answers mean and what becomes of errors is the
// caller's affair. Plaintext and ciphertext of all connections of a loop share two
// buffers, so that a connection holds only what its socket did not take.
package wire
