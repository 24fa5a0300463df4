// Package wire is everything between the kernel and a protocol: the sockets of a load generator
// to one server, from one source address or many, the three system calls of its hot path, and
// for each connection what is between its socket and its protocol. HTTP/1.1 in clear does not
// need the latter.
//
//	requests of HTTP/1.1 ────────────┐
//	requests of HTTP/2 ──▶ frames ───┴─▶ TLS ──▶ pending ──▶ socket
//	plaintext ◀──────────────────────── TLS ◀── Receive ◀── socket
//	                       (or neither)
//
// A [Conn] makes the TLS handshake, begins HTTP/2, encrypts output, decrypts input, and
// keeps output that the socket did not accept. It has no loop: the caller reads, waits,
// closes, and handles answers and errors. The connections of a loop share two buffers for
// plaintext and ciphertext, so that a connection holds only output that its socket did not
// accept.
package wire
