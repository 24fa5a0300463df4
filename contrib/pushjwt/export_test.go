package pushjwt

import (
	"sync/atomic"

	"github.com/golang-jwt/jwt/v5"
)

// Verifications counts the signatures that are verified from now on. Call it before requests.
func (t *Tokens) Verifications() *atomic.Int32 {
	n, keys := new(atomic.Int32), t.keys
	t.keys = func(token *jwt.Token) (any, error) {
		n.Add(1)
		return keys(token)
	}
	return n
}
