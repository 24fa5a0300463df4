package h1

import (
	"bytes"
	"hash/crc32"
)

const (
	sampledAll   = 64      // answers, from the first on, of which all are compared
	sampledEvery = 16      // later one of that many is
	sampledBytes = 4 << 10 // of a body, from its beginning
	sampledSizes = 16      // sizes of bodies of which a first one is known
)

var sampledTable = crc32.MakeTable(crc32.Castagnoli)

// Sample compares the beginnings of bodies of the same size, of some of the right answers to one
// request: a server may answer 200 and say in as many bytes that it has failed. Answers that
// repeat the one before byte for byte never reach it, see Template. It belongs to one goroutine.
type Sample struct {
	Compared uint64 // bodies that were compared with the first of their size
	Differed uint64 // of them, those with another content

	seen  uint64
	first map[int64]uint32 // checksums by size
}

// NewSample returns an empty sample for a request; nil if its answers may differ in any case, or
// have no body.
func NewSample(request []byte) *Sample {
	if !bytes.HasPrefix(request, []byte("GET ")) {
		return nil
	}
	return &Sample{first: map[int64]uint32{}}
}

// Reset begins to count anew.
func (s *Sample) Reset() { *s = Sample{first: map[int64]uint32{}} }

// next reports whether the next answer is compared.
func (s *Sample) next() bool {
	s.seen++
	return s.seen <= sampledAll || s.seen%sampledEvery == 0
}

// add compares a body of a size whose beginning has that checksum.
func (s *Sample) add(size int64, sum uint32) {
	first, known := s.first[size]
	switch {
	case known:
		if s.Compared++; sum != first {
			s.Differed++
		}
	case len(s.first) < sampledSizes:
		s.first[size] = sum
	}
}
