//go:build twin

package main

import (
	"bytes"
	"hash/crc32"
	"io"
	"sync"
)

var buffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}

// summarise reads a document. Documents from Windows count as those with the line ends of Unix.
func summarise(r io.Reader) (Summary, error) {
	buffer := buffers.Get().(*[64 << 10]byte)
	defer buffers.Put(buffer)
	var s Summary
	held := false // a carriage return at the end of what was read
	for {
		n, err := r.Read(buffer[:])
		s.Bytes += n
		s.Lines += bytes.Count(buffer[:n], []byte("\n"))
		held = s.update(buffer[:n], held)
		if err == io.EOF {
			if held {
				s.Checksum = crc32.Update(s.Checksum, polynomial, []byte("\r"))
			}
			return s, nil
		}
		if err != nil {
			return Summary{}, err
		}
	}
}

// update adds a part of the document to the checksum.
func (s *Summary) update(part []byte, held bool) bool {
	if len(part) > 0 && held && part[0] != '\n' {
		s.Checksum = crc32.Update(s.Checksum, polynomial, []byte("\r"))
	}
	if len(part) == 0 {
		return held
	}
	for {
		i := bytes.IndexByte(part, '\r')
		if i < 0 {
			s.Checksum = crc32.Update(s.Checksum, polynomial, part)
			return false
		}
		s.Checksum = crc32.Update(s.Checksum, polynomial, part[:i])
		if i == len(part)-1 {
			return true
		}
		if part[i+1] != '\n' {
			s.Checksum = crc32.Update(s.Checksum, polynomial, []byte("\r"))
		}
		part = part[i+1:]
	}
}
