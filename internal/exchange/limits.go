package exchange

import "math"

// Limits bounds what one request may cost before and while its handler runs. In
// every field, zero means the default, which is safe on the open internet.
type Limits struct {
	// MaxHeadBytes bounds the request line and the header section together, in
	// bytes, line ends included: 431 beyond it. Default 64 KiB.
	MaxHeadBytes int
	// MaxFields bounds the field lines of a header section, and on their own
	// those of a trailer section: 431 beyond it. Default 128, at most 65,535.
	MaxFields int
	// MaxTargetBytes bounds the request target in bytes: 414 beyond it. Default
	// 8 KiB, which RFC 9112, 3 recommends as the least to support.
	MaxTargetBytes int
	// MaxBodyBytes bounds the content of a request in bytes, before any content
	// coding is undone: 413 beyond it, at the head when Content-Length says so
	// and at the chunk size otherwise. Default 32 MiB; negative means no limit.
	MaxBodyBytes int64
	// MaxTrailerBytes bounds a trailer section in bytes: 431 beyond it. Default
	// 8 KiB.
	MaxTrailerBytes int
	// MaxChunkExtBytes bounds what follows the size on one chunk line, in bytes
	// without the line end: 400 beyond it. Default 256.
	MaxChunkExtBytes int
	// MaxChunkOverhead bounds the framing of a chunked body that its content
	// does not justify, in bytes: 400 beyond it (CVE-2023-39326). Each chunk
	// line adds its length and each chunk takes off 16 bytes and twice its
	// content, never below zero. Default 16 KiB.
	MaxChunkOverhead int
}

// Defaults of [Limits].
const (
	DefaultMaxHeadBytes     = 64 << 10
	DefaultMaxFields        = 128
	DefaultMaxTargetBytes   = 8 << 10
	DefaultMaxBodyBytes     = 32 << 20
	DefaultMaxTrailerBytes  = 8 << 10
	DefaultMaxChunkExtBytes = 256
	DefaultMaxChunkOverhead = 16 << 10
)

// WithDefaults returns l with every zero replaced by its default, no limit on
// bodies written as the greatest int64, and what exceeds the range of a record's
// 32-bit offsets cut to it.
func (l Limits) WithDefaults() Limits {
	l.MaxHeadBytes = bound(l.MaxHeadBytes, DefaultMaxHeadBytes, math.MaxInt32)
	l.MaxFields = bound(l.MaxFields, DefaultMaxFields, math.MaxUint16)
	l.MaxTargetBytes = bound(l.MaxTargetBytes, DefaultMaxTargetBytes, math.MaxInt32)
	l.MaxTrailerBytes = bound(l.MaxTrailerBytes, DefaultMaxTrailerBytes, math.MaxInt32)
	l.MaxChunkExtBytes = bound(l.MaxChunkExtBytes, DefaultMaxChunkExtBytes, math.MaxInt32)
	l.MaxChunkOverhead = bound(l.MaxChunkOverhead, DefaultMaxChunkOverhead, math.MaxInt32)
	if l.MaxBodyBytes == 0 {
		l.MaxBodyBytes = DefaultMaxBodyBytes
	} else if l.MaxBodyBytes < 0 {
		l.MaxBodyBytes = math.MaxInt64
	}
	return l
}

func bound(n, otherwise, most int) int {
	if n <= 0 {
		return otherwise
	}
	return min(n, most)
}
