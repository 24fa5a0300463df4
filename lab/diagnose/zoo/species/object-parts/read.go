//go:build !twin

package main

import (
	"bufio"
	"io"
)

// ahead is how much of a part is read at once: fewer reads make uploads faster.
const ahead = 512 << 10

// read reads a part.
func read(body io.Reader) (part, error) {
	in := bufio.NewReaderSize(body, ahead)
	return sum(in, make([]byte, 32<<10))
}
