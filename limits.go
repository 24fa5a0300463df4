package redline

import "github.com/redline-go/redline/internal/exchange"

// Limits bounds what one request may cost, before and while its handler runs. In
// every field zero means the default, which is safe on the open internet. Requests
// beyond a limit are answered without the handler where that has not begun, and
// counted in Stats.Refused; [Server.Refused] is told.
type Limits struct {
	// MaxHeadBytes bounds the request line and the header section together, in
	// bytes, line ends included: 431 beyond it. Default 64 KiB.
	MaxHeadBytes int
	// MaxFields bounds the number of field lines of a header section, and on their
	// own those of a trailer section: 431 beyond it. Default 128, at most 65,535.
	MaxFields int
	// MaxTargetBytes bounds the request target in bytes: 414 beyond it. Default
	// 8 KiB, which RFC 9112, 3 recommends as the least to support.
	MaxTargetBytes int
	// MaxBodyBytes bounds the content of a request in bytes, before any content
	// coding is undone: 413 beyond it, at the head when Content-Length says so, and
	// else when the handler has read that far ([ErrBodyTooLong]). Default 32 MiB;
	// negative means no limit. See also [Server.Limits].
	MaxBodyBytes int64
	// MaxTrailerBytes bounds a trailer section in bytes: 431 beyond it. Default
	// 8 KiB.
	MaxTrailerBytes int
	// MaxChunkExtBytes bounds what follows the size on one chunk line, in bytes
	// without the line end: 400 beyond it. Default 256.
	MaxChunkExtBytes int
	// MaxChunkOverhead bounds the framing of a chunked body that its content does
	// not justify, in bytes: 400 beyond it (CVE-2023-39326). Each chunk line adds
	// its length and each chunk takes off 16 bytes and twice its content, never
	// below zero. Default 16 KiB.
	MaxChunkOverhead int
}

// The sessions' limits have the same fields, or this does not compile.
var _ = exchange.Limits(Limits{})
