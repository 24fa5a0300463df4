package subject

import (
	"bytes"
	"fmt"
	"strconv"
	"sync/atomic"
)

// MaxBytes bounds what GET /bytes answers with: 10 MiB.
const MaxBytes = 10 << 20

const pattern = "0123456789abcdef"

// made is the longest text that [Bytes] has made: a subject holds no more of it than it
// was asked for.
var made atomic.Pointer[[]byte]

// Bytes gives the body of GET /bytes: as many bytes as size says, a decimal number of 1
// to [MaxBytes], of a pattern. It is shared, and nobody writes to it. The error is for
// the client, with status 400.
func Bytes(size string) ([]byte, error) {
	n, err := strconv.Atoi(size)
	if err != nil || n < 1 || n > MaxBytes {
		return nil, fmt.Errorf("size is not a number of 1 to %d", MaxBytes)
	}
	if text := made.Load(); text != nil && len(*text) >= n {
		return (*text)[:n:n], nil
	}
	text := bytes.Repeat([]byte(pattern), n/len(pattern)+1)[:n:n]
	made.Store(&text)
	return text, nil
}

// Order is what a client sends to POST /order, as JSON.
type Order struct {
	Customer string `json:"customer"`
	Items    []Item `json:"items"`
}

// Item is one line of an [Order]. Prices are in cents.
type Item struct {
	ID       int      `json:"id"`
	Name     string   `json:"name"`
	Quantity int      `json:"quantity"`
	Price    int      `json:"price"`
	Tags     []string `json:"tags"`
}

// Receipt is the answer to an [Order], as JSON.
type Receipt struct {
	Items int `json:"items"`
	Total int `json:"total"` // cents
}

// Receipt adds up the order.
func (o *Order) Receipt() Receipt {
	r := Receipt{Items: len(o.Items)}
	for _, i := range o.Items {
		r.Total += i.Quantity * i.Price
	}
	return r
}
