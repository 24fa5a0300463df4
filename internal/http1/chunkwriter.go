package http1

import "math/bits"

// ChunkOverhead is the most that [AppendChunk] adds to the data, in bytes.
const ChunkOverhead = 16 + 2 + 2

// AppendChunkHead appends the line that announces a chunk of size bytes (RFC 9112,
// 7.1). Behind the data goes [AppendChunkTail]. A chunk of size 0 would end the
// content, so for size <= 0 nothing is appended; neither should a tail be then.
func AppendChunkHead(dst []byte, size int) []byte {
	if size <= 0 {
		return dst
	}
	const digits = "0123456789abcdef"
	for shift := (bits.Len(uint(size)) - 1) &^ 3; shift >= 0; shift -= 4 {
		dst = append(dst, digits[size>>shift&15])
	}
	return append(dst, '\r', '\n')
}

// AppendChunkTail appends the line end behind a chunk's data.
func AppendChunkTail(dst []byte) []byte { return append(dst, '\r', '\n') }

// AppendChunk appends data as one chunk, and nothing if there is none.
func AppendChunk(dst, data []byte) []byte {
	if len(data) == 0 {
		return dst
	}
	dst = AppendChunkHead(dst, len(data))
	dst = append(dst, data...)
	return AppendChunkTail(dst)
}

// AppendLastChunk appends the chunk that ends the content. Trailer lines may follow;
// then an empty line must, which [AppendChunkTail] appends.
func AppendLastChunk(dst []byte) []byte { return append(dst, '0', '\r', '\n') }

// AppendChunksEnd appends the end of chunked content without trailers.
func AppendChunksEnd(dst []byte) []byte { return append(dst, "0\r\n\r\n"...) }
