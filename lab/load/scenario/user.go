package scenario

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// User is one virtual user, usually a connection. It returns the next request, and receives
// the responses. It may be used by one goroutine at a time.
type User struct {
	plan    *Plan
	group   *group
	random  rand.Rand
	id, of  uint64
	now     [periods]uint64 // number of the current iteration, request and user, from 1
	rest    []*Target       // remaining steps of the current flow
	at      *Target         // last result of Next
	passes  uint64          // iterations except those of setup
	cells   []cell
	scratch []byte
	jar     *jar   // nil: cookies are not kept
	target  []byte // of the last request: path and query
	cookies []byte // of the last request
	ready   bool   // setup is done
	once    bool   // every request is made once, see Plan.Rehearse
	tried   bool   // with once: setup was begun
	waiting bool   // the next request depends on a response
}

// User returns a virtual user. No two users with the same seed behave alike; the same seed,
// id and responses result in the same requests. A run has of users, numbered from 0, over
// all of its processes: counters and rows of CSV files are divided among them without
// overlap.
func (p *Plan) User(seed uint64, id, of int) *User {
	if id < 0 || id >= of {
		panic("scenario: user " + strconv.Itoa(id) + " of " + strconv.Itoa(of))
	}
	u := &User{plan: p, group: &p.groups[p.deal.group(id)], id: uint64(id), of: uint64(of), ready: len(p.setup) == 0}
	u.random = *rand.New(rand.NewPCG(seed, scramble(uint64(id))))
	u.now[user] = 1
	if p.cookies {
		u.jar = newJar()
	}
	if len(p.slots) > 0 {
		u.cells = make([]cell, len(p.slots))
	}
	return u
}

// Rehearse returns a user that makes every request once: setup, then each target and each
// flow in the order of the file, regardless of the weights. When all are done, or setup
// failed, Next returns false without waiting for a response.
func (p *Plan) Rehearse(seed uint64) *User {
	u := p.User(seed, 0, 1)
	u.once = true
	return u
}

// scramble spreads neighbouring numbers over the whole range (the last step of SplitMix64),
// so that generators seeded with them are unrelated.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Next returns the next request. It returns false while the response that it depends on is
// outstanding: call [User.Answer] or [User.Abort], then Next again.
//
// [User.Append] and [User.View] draw the variables of the request; call one of them before
// the next call of Next.
func (u *User) Next() (*Target, bool) {
	if u.waiting {
		return nil, false
	}
	if len(u.rest) == 0 {
		if u.begin(); len(u.rest) == 0 {
			return nil, false // the end of a rehearsal
		}
	}
	u.now[request]++
	t := u.rest[0]
	u.rest = u.rest[1:]
	u.at, u.waiting = t, t.sequential
	return t, true
}

// begin starts an iteration.
func (u *User) begin() {
	u.now[iteration]++
	p := u.plan
	switch {
	case !u.ready && u.once && u.tried:
	case !u.ready:
		if u.jar != nil {
			u.jar.clear()
		}
		u.rest, u.tried = p.setup, true
	case u.once:
		if u.passes < uint64(len(p.entries)) {
			u.rest = p.entries[u.passes]
			u.passes++
		}
	case u.group.alias != nil:
		i := u.random.IntN(len(u.group.alias))
		if a := &u.group.alias[i]; a.keep < 1 && u.random.Float64() >= a.keep {
			i = int(a.other)
		}
		u.rest = u.group.entries[i]
	case p.inTurn:
		u.rest = p.entries[u.deal(u.passes, uint64(len(p.entries)))]
		u.passes++
	default:
		u.rest = u.group.entries[0]
	}
}

// deal returns the index of the user's entry, of n, in its k-th iteration. All users together
// use the entries in turn: a user's next entry is as many positions further as there are
// users. If that leads back to the start before all entries were used, it
// skips one: otherwise, with two users and two targets, each user would request
// the same target forever.
func (u *User) deal(k, n uint64) uint64 {
	common, rest := n, u.of%n
	for rest != 0 {
		common, rest = rest, common%rest
	}
	round := n / common // iterations until the start is reached again
	return (u.id + k%round*(u.of%n) + k/round%common) % n
}

// Within returns the index in [Plan.Flows] of the flow that the user is in the middle of: it
// waits for the response to a step, or has steps left. It returns -1 outside of flows.
func (u *User) Within() int {
	if u.at == nil || !u.waiting && len(u.rest) == 0 {
		return -1
	}
	return u.at.Flow()
}

// Append appends the bytes of t's request to dst in the format of HTTP/1.1: head and body,
// or only the head if [Target.Stream] has the body. t is the last result of Next. Append
// does not allocate once dst and the user's own buffers are large enough, except for
// signatures other than HMAC.
func (u *User) Append(dst []byte, t *Target) []byte {
	if t.wire != nil {
		return append(dst, t.wire...)
	}
	dst = u.render(dst, t.head)
	if t.cookies {
		if value := u.carry(t); len(value) > 0 {
			dst = append(append(append(dst, "Cookie: "...), value...), "\r\n"...)
		}
		dst = u.render(dst, t.tail)
	}
	if !t.dynamic() {
		return dst
	}
	u.scratch = u.render(u.scratch[:0], t.body.content)
	if t.body.chunk > 0 {
		dst = append(dst, "Transfer-Encoding: chunked\r\n\r\n"...)
		return appendChunked(dst, u.scratch, t.body.chunk)
	}
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(u.scratch)), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, u.scratch...)
}

// Field is one header field of a [View].
type Field struct {
	Name  string // in lower case
	Value []byte
}

// View is a request in parts, for HTTP/2. Its slices belong to the user and the plan, and
// are valid until the next call with the same View.
type View struct {
	Method    string
	Scheme    string
	Authority string
	Path      []byte
	Fields    []Field // without Host, and without fields that frame the body or concern the connection
	Body      []byte  // empty if Target.Stream has the body
	buf       []byte
	ends      []int
}

// View fills v with t's request, where t is the last result of Next. It does not allocate
// once the buffers of v are large enough.
func (u *User) View(v *View, t *Target) {
	v.Method, v.Scheme, v.Authority = t.method, t.scheme, t.host
	v.Fields, v.buf, v.ends = v.Fields[:0], v.buf[:0], v.ends[:0]
	// The buffer may move while it grows: write everything, then slice it.
	add := func(t template) {
		if _, ok := t.constant(); !ok {
			v.buf = u.render(v.buf, t)
		}
		v.ends = append(v.ends, len(v.buf))
	}
	add(t.path)
	for i := range t.fields {
		add(t.fields[i].value)
	}
	add(t.body.content)

	start := 0
	cut := func(t template) []byte {
		end := v.ends[0]
		v.ends = v.ends[1:]
		value, ok := t.constant()
		if !ok {
			value = v.buf[start:end:end]
		}
		start = end
		return value
	}
	ends := v.ends
	v.Path = cut(t.path)
	for i := range t.fields {
		f := &t.fields[i]
		value := cut(f.value)
		if !ofConnection(f.lower) {
			v.Fields = append(v.Fields, Field{f.lower, value})
		}
	}
	if t.cookies {
		if value := u.carry(t); len(value) > 0 {
			v.Fields = append(v.Fields, Field{"cookie", value})
		}
	}
	v.Body = cut(t.body.content)
	v.ends = ends
}

// carry returns the cookies that t's request has.
func (u *User) carry(t *Target) []byte {
	u.target = u.render(u.target[:0], t.path)
	u.cookies = u.jar.appendTo(u.cookies[:0], t.scheme, t.host, u.target)
	return u.cookies
}

// keep keeps the cookies that an answer sets.
func (u *User) keep(head []byte) {
	for {
		value, rest, ok := field(head, "set-cookie")
		if !ok {
			break
		}
		head = rest
		u.jar.take(value)
	}
	u.jar.keep()
}

// ofConnection reports whether HTTP/2 forbids a field: RFC 9113, section 8.2.2.
func ofConnection(name string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "upgrade", "te":
		return true
	}
	return false
}

// Think returns how long the user waits after the response to t before its next request. It
// draws a value: call it once for each request.
func (u *User) Think(t *Target) time.Duration { return t.think.Draw(&u.random) }

// Answer passes the response to t to the user: the status, the header fields in the format
// of HTTP/1.1 (with or without the status line), and the body without chunk framing. Both
// may be nil if t does not need them, and the body may be truncated if the caller's buffer
// is too small: checks then apply to that part. Nothing is retained.
//
// It returns the name of the first check that failed, in the order of the file, or "". A
// failed check does not end a flow; a failed capture does, because the next step needs it.
// Answer does not allocate if t has no captures, the checks hold, and cookies are not kept.
func (u *User) Answer(t *Target, status int, head, body []byte) (failed string) {
	if t.cookies {
		u.keep(head)
	}
	for i := range t.checks {
		if !t.checks[i].holds(status, head, body, &u.scratch) {
			failed = t.checks[i].name
			break
		}
	}
	if !t.sequential {
		return failed
	}
	u.waiting = false
	for i := range t.captures {
		g := &t.captures[i]
		if !g.take(&u.cells[g.slot], head, body, &u.scratch) {
			u.rest = nil
			if failed == "" {
				failed = g.name
			}
			return failed
		}
	}
	if t.setup && len(u.rest) == 0 {
		u.ready = true
	}
	return failed
}

// Abort reports that the responses to the user's requests will not arrive. The user continues
// with a new iteration, or with setup if that is not complete.
func (u *User) Abort() { u.rest, u.waiting = nil, false }
