package backend

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"strconv"
)

// MaxRounds bounds what GET /burn does: a second or so.
const MaxRounds = 10_000_000

// Burn does so many rounds of work, a decimal number up to [MaxRounds], which take CPU
// and nothing else: each is the SHA-256 of the one before. Work that is counted is the
// same for every subject, where a time would be shorter for who is interrupted.
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
