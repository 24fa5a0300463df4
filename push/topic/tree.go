package topic

import "strings"

// A Tree stores values under patterns or under names, and finds those that match. Its zero
// value is empty. It is not safe for concurrent use.
type Tree[T any] struct {
	root node[T]
	size int
}

type node[T any] struct {
	value *T
	kids  map[string]*node[T]
	one   *node[T] // below "*"
	rest  *node[T] // below "**"
}

// Len is the number of values.
func (t *Tree[T]) Len() int { return t.size }

// Get returns what is stored under exactly this text, or nil.
func (t *Tree[T]) Get(pattern string) *T {
	n := &t.root
	for more := true; more; {
		var segment string
		segment, pattern, more = strings.Cut(pattern, "/")
		if n = n.kid(segment); n == nil {
			return nil
		}
	}
	return n.value
}

// Put stores a value, which replaces the one under the same text. The tree keeps the memory
// of the text.
func (t *Tree[T]) Put(pattern string, value *T) {
	n := &t.root
	for more := true; more; {
		var segment string
		segment, pattern, more = strings.Cut(pattern, "/")
		n = n.make(segment)
	}
	if n.value == nil {
		t.size++
	}
	n.value = value
}

// Delete removes what is stored under exactly this text.
func (t *Tree[T]) Delete(pattern string) {
	if t.root.remove(pattern, true) {
		t.size--
	}
}

// Match appends the values of all patterns that select a name. It allocates nothing if dst
// has room.
func (t *Tree[T]) Match(dst []*T, name string) []*T { return t.root.match(dst, name, true) }

// Covers reports whether a pattern or name in the tree selects all that a pattern selects.
func (t *Tree[T]) Covers(pattern string) bool { return t.root.covers(pattern, true) }

// Select appends the values of all names that a pattern selects, in no order. The tree must
// hold names only.
func (t *Tree[T]) Select(dst []*T, pattern string) []*T { return t.root.pick(dst, pattern, true) }

func (n *node[T]) kid(segment string) *node[T] {
	switch segment {
	case one:
		return n.one
	case rest:
		return n.rest
	}
	return n.kids[segment]
}

func (n *node[T]) make(segment string) *node[T] {
	if k := n.kid(segment); k != nil {
		return k
	}
	k := new(node[T])
	n.set(segment, k)
	return k
}

func (n *node[T]) set(segment string, k *node[T]) {
	switch {
	case segment == one:
		n.one = k
	case segment == rest:
		n.rest = k
	case k == nil:
		delete(n.kids, segment)
		if len(n.kids) == 0 {
			n.kids = nil
		}
	case n.kids == nil:
		n.kids = map[string]*node[T]{segment: k}
	default:
		n.kids[segment] = k
	}
}

func (n *node[T]) empty() bool {
	return n.value == nil && n.kids == nil && n.one == nil && n.rest == nil
}

func (n *node[T]) remove(pattern string, more bool) (found bool) {
	if !more {
		found = n.value != nil
		n.value = nil
		return found
	}
	segment, below, more := strings.Cut(pattern, "/")
	k := n.kid(segment)
	if k == nil {
		return false
	}
	found = k.remove(below, more)
	if k.empty() {
		n.set(segment, nil)
	}
	return found
}

func (n *node[T]) match(dst []*T, name string, more bool) []*T {
	if n.rest != nil && n.rest.value != nil {
		dst = append(dst, n.rest.value)
	}
	if !more {
		if n.value != nil {
			dst = append(dst, n.value)
		}
		return dst
	}
	segment, below, more := strings.Cut(name, "/")
	if k := n.kids[segment]; k != nil {
		dst = k.match(dst, below, more)
	}
	if n.one != nil {
		dst = n.one.match(dst, below, more)
	}
	return dst
}

func (n *node[T]) covers(pattern string, more bool) bool {
	switch {
	case n.rest != nil && n.rest.value != nil:
		return true
	case !more:
		return n.value != nil
	}
	segment, below, more := strings.Cut(pattern, "/")
	if segment == rest {
		return false
	}
	if k := n.kids[segment]; k != nil && k.covers(below, more) {
		return true
	}
	return n.one != nil && n.one.covers(below, more)
}

func (n *node[T]) pick(dst []*T, pattern string, more bool) []*T {
	if !more {
		if n.value != nil {
			dst = append(dst, n.value)
		}
		return dst
	}
	segment, below, more := strings.Cut(pattern, "/")
	switch segment {
	case rest:
		return n.all(dst)
	case one:
		for _, k := range n.kids {
			dst = k.pick(dst, below, more)
		}
		return dst
	}
	if k := n.kids[segment]; k != nil {
		dst = k.pick(dst, below, more)
	}
	return dst
}

// Some is like Select, but looks at no more nodes than that. It reports false if there are more: then
// what it appends is a part.
func (t *Tree[T]) Some(dst []*T, pattern string, nodes int) (found []*T, whole bool) {
	dst = t.root.some(dst, pattern, true, &nodes)
	return dst, nodes >= 0
}

func (n *node[T]) some(dst []*T, pattern string, more bool, nodes *int) []*T {
	if *nodes--; *nodes < 0 {
		return dst
	}
	segment, below, further := strings.Cut(pattern, "/")
	every := more && segment == rest
	if n.value != nil && (!more || every) {
		dst = append(dst, n.value)
	}
	switch {
	case !more:
	case !every && segment != one:
		if k := n.kids[segment]; k != nil {
			dst = k.some(dst, below, further, nodes)
		}
	default:
		for _, k := range n.kids {
			if *nodes < 0 {
				break
			}
			if every {
				dst = k.some(dst, rest, true, nodes)
			} else {
				dst = k.some(dst, below, further, nodes)
			}
		}
	}
	return dst
}

func (n *node[T]) all(dst []*T) []*T {
	if n.value != nil {
		dst = append(dst, n.value)
	}
	for _, k := range n.kids {
		dst = k.all(dst)
	}
	return dst
}
