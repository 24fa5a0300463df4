// Package hpack compresses and decompresses the field lines of HTTP/2 (RFC 7541). It does no
// I/O and, once a connection's tables have grown to what the connection uses, no allocation.
//
// A [Decoder] and an [Encoder] each hold one direction of one connection. Header blocks must
// be decoded in the order in which they arrive, and sent in the order in which they were
// encoded, all of them: both ends change their tables with every block.
//
// The decoder is strict. Beyond what RFC 7541 demands, it refuses integers of more than 28
// bits, and more than two size updates at the start of a block, which 4.2 says are never
// needed.
//
// The encoder chooses for every field line:
//
//   - Lines of the static table are one byte.
//   - Lines that carry credentials are never indexed (7.1.3): Authorization,
//     Proxy-Authorization, Set-Cookie, and Cookie if its value is so short that it could be
//     guessed.
//   - Lines whose names belong to values that rarely change (Content-Type, Vary) enter the
//     dynamic table when they are first seen, Huffman-coded, as this happens once per
//     connection.
//   - Other lines (Date, ETag, names that the static table does not have) enter it when they
//     are seen a second time. Values that change every time therefore displace nothing.
//     They are sent as they are: what Huffman coding saves on them is less than it costs.
package hpack
