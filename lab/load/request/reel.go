package request

import "bytes"

// A reel holds the requests that follow one another on each connection. They are stored
// once, and a batch is a slice of the text. It is immutable.
//
//	text   a  b  c  d  e | a  b  c       5 requests, batches of 4
//	          └─ batch ─┘  └ repeated, for batches that extend over the end
type reel struct {
	text   []byte
	starts []int // offsets of the requests in text, and its end
	count  int   // requests before the sequence repeats
	depth  int   // requests in a batch

	idempotent bool // all of them
}

// newReel returns a reel of the requests first and more, for batches of depth.
func newReel(depth int, first []byte, more ...[]byte) reel {
	all := append([][]byte{first}, more...)
	r := reel{count: len(all), depth: depth, idempotent: true}
	for _, request := range all {
		method, _, _ := bytes.Cut(request, []byte(" "))
		r.idempotent = r.idempotent && idempotent(string(method))
	}
	for i := range r.count + r.depth - 1 {
		r.starts = append(r.starts, len(r.text))
		r.text = append(r.text, all[i%r.count]...)
	}
	r.starts = append(r.starts, len(r.text))
	return r
}

// idempotent reports whether a method may be repeated (RFC 9110, section 9.2.2).
func idempotent(method string) bool {
	switch method {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return true
	}
	return false
}

// varied reports whether batches differ.
func (r *reel) varied() bool { return r.count > 1 }

// place returns the request with which the n-th connection begins, so that not all
// connections send the same one at the same time.
func (r *reel) place(n int) (first int) { return n * r.depth % r.count }

// batch returns the batch that begins with a request, and the request that follows it. The
// text belongs to the reel.
func (r *reel) batch(first int) (text []byte, next int) {
	return r.text[r.starts[first]:r.starts[first+r.depth]], (first + r.depth) % r.count
}

// size returns how many bytes the first n requests of that batch have.
func (r *reel) size(first, n int) int { return r.starts[first+n] - r.starts[first] }

// begun returns how many requests of the batch that begins with first have any byte before
// off.
func (r *reel) begun(first, off int) (n int) {
	for at := off + r.starts[first]; n < r.depth && r.starts[first+n] < at; n++ {
	}
	return n
}

// whole returns how many of them have all of their bytes before off.
func (r *reel) whole(first, off int) (n int) {
	for at := off + r.starts[first]; n < r.depth && r.starts[first+n+1] <= at; n++ {
	}
	return n
}
