package backend

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"strconv"
)

// MaxRounds limits GET /burn: about a second.
const MaxRounds = 10_000_000

// Burn does a number of rounds of work, a decimal number up to [MaxRounds], which only use
// CPU: each is the SHA-256 of the previous one. Counted work is the same for every subject;
// with a fixed time, an interrupted subject would do less.
func Burn(rounds string) error {
	n, err := strconv.Atoi(rounds)
	if err != nil || n < 0 || n > MaxRounds {
		return &ParamError{"rounds", fmt.Sprintf("a number of 0 to %d", MaxRounds)}
	}
	var sum [sha256.Size]byte
	for range n {
		sum = sha256.Sum256(sum[:])
	}
	runtime.KeepAlive(sum)
	return nil
}
