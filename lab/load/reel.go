package load

// A reel is the requests of a Spec without a scenario, as they follow one another on
// each connection: written once, so that a batch is a piece of it.
//
//	text   a  b  c  d  e | a  b  c       5 requests, batches of 4
//	          └─ batch ─┘  └ again, for batches that go over the end
type reel struct {
	text   []byte
	starts []int // of the requests in text, and its end
	count  int   // requests before they come again
	depth  int   // requests of a batch
}

// newReel makes the reel of spec.
func newReel(spec *Spec) reel {
	all := append([][]byte{spec.Request}, spec.More...)
	r := reel{count: len(all), depth: spec.Pipeline}
	for i := range r.count + r.depth - 1 {
		r.starts = append(r.starts, len(r.text))
		r.text = append(r.text, all[i%r.count]...)
	}
	r.starts = append(r.starts, len(r.text))
	return r
}

// varied reports whether batches differ.
func (r *reel) varied() bool { return r.count > 1 }

// batch returns the batch that begins with a request, and which one follows it.
func (r *reel) batch(first int) (text []byte, next int) {
	return r.text[r.starts[first]:r.starts[first+r.depth]], (first + r.depth) % r.count
}

// begun and whole are how many requests of the batch that begins with first have some
// byte, and all of them, before off.
func (r *reel) begun(first, off int) (n int) {
	for at := off + r.starts[first]; n < r.depth && r.starts[first+n] < at; n++ {
	}
	return n
}

func (r *reel) whole(first, off int) (n int) {
	for at := off + r.starts[first]; n < r.depth && r.starts[first+n+1] <= at; n++ {
	}
	return n
}
