package exchange

import "math"

// Limits bounds what one request may cost before and while its handler runs. In
// every field, zero means the default, which is safe on the open internet.
type Limits struct {
	// MaxHeadBytes bounds the request line and the header section together, in bytes,
	// including line ends; beyond it the answer is 431. Default 64 KiB.
	MaxHeadBytes int
	// MaxFields bounds the field lines of a header section, and separately those of a
	// trailer section; beyond it the answer is 431. Default 128, at most 65,535.
	MaxFields int
	// MaxTargetBytes bounds the request target in bytes; beyond it the answer is 414.
	// By default only MaxHeadBytes bounds it, as in net/http; RFC 9112, 3 recommends to
	// support at least 8,000.
	MaxTargetBytes int
	// MaxBodyBytes bounds the content of a request in bytes, before any content coding is
	// decoded; beyond it the answer is 413, at the head if Content-Length exceeds it and at
	// the chunk size otherwise. Default 32 MiB; negative means no limit.
	MaxBodyBytes int64
	// MaxTrailerBytes bounds a trailer section in bytes; beyond it the answer is 431.
	// Default 8 KiB.
	MaxTrailerBytes int
	// MaxChunkExtBytes bounds what follows the size on one chunk line, in bytes without the
	// line end; beyond it the answer is 400. Default 256.
	MaxChunkExtBytes int
	// MaxChunkOverhead bounds the framing of a chunked body that its content does not
	// justify, in bytes; beyond it the answer is 400 (CVE-2023-39326). Each chunk line adds
	// its length, and each chunk subtracts 16 bytes and twice its content, never below
	// zero. Default 16 KiB.
	MaxChunkOverhead int
}

// Defaults of [Limits].
const (
	DefaultMaxHeadBytes     = 64 << 10
	DefaultMaxFields        = 128
	DefaultMaxBodyBytes     = 32 << 20
	DefaultMaxTrailerBytes  = 8 << 10
	DefaultMaxChunkExtBytes = 256
	DefaultMaxChunkOverhead = 16 << 10
)

// WithDefaults returns l with every zero replaced by its default, an absent limit on bodies
// replaced by the greatest int64, and values beyond the range of a record's 32-bit offsets
// reduced to it.
func (l Limits) WithDefaults() Limits {
	l.MaxHeadBytes = bound(l.MaxHeadBytes, DefaultMaxHeadBytes, math.MaxInt32)
	l.MaxFields = bound(l.MaxFields, DefaultMaxFields, math.MaxUint16)
	l.MaxTargetBytes = bound(l.MaxTargetBytes, l.MaxHeadBytes, math.MaxInt32)
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
