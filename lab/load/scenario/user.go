package scenario

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// User is one virtual user: usually a connection. It says what to ask next, and is
// told the answers. It belongs to one goroutine at a time.
type User struct {
	plan    *Plan
	random  rand.Rand
	id, of  uint64
	now     [periods]uint64 // number of the present iteration, request and user, from 1
	rest    []*Target       // of the present flow
	passes  uint64          // iterations but those of setup
	cells   []cell
	scratch []byte
	ready   bool // setup is done
	once    bool // everything is asked for once, see Plan.Rehearse
	tried   bool // of once: setup was begun
	waiting bool // the next request depends on an answer
}

// User returns a virtual user. Of users with the same seed no two behave alike;
// the same seed, id and answers bring about the same requests. There are of users
// altogether, numbered from 0, over all processes of a run: counters and rows of
// CSV files are dealt out among them without overlap.
func (p *Plan) User(seed uint64, id, of int) *User {
	if id < 0 || id >= of {
		panic("scenario: user " + strconv.Itoa(id) + " of " + strconv.Itoa(of))
	}
	u := &User{plan: p, id: uint64(id), of: uint64(of), ready: len(p.setup) == 0}
	u.random = *rand.New(rand.NewPCG(seed, scramble(uint64(id))))
	u.now[user] = 1
	if len(p.slots) > 0 {
		u.cells = make([]cell, len(p.slots))
	}
	return u
}

// Rehearse returns a user that does everything once: setup, then each target and
// each flow in the order of the file, whatever the weights say. When all is done,
// or setup did not succeed, Next returns false without waiting for an answer.
func (p *Plan) Rehearse(seed uint64) *User {
	u := p.User(seed, 0, 1)
	u.once = true
	return u
}

// scramble spreads neighbouring numbers over all of them (the last step of
// SplitMix64), so that generators seeded with them have nothing in common.
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Next chooses the next request. It returns false while the answer that it depends
// on is outstanding: call [User.Answer] or [User.Abort], then Next again.
//
// What the request says is drawn by [User.Append] or [User.View]; call one of them
// before the next Next.
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
	u.waiting = t.sequential
	return t, true
}

// begin starts an iteration.
func (u *User) begin() {
	u.now[iteration]++
	p := u.plan
	switch {
	case !u.ready && u.once && u.tried:
	case !u.ready:
		u.rest, u.tried = p.setup, true
	case u.once:
		if u.passes < uint64(len(p.entries)) {
			u.rest = p.entries[u.passes]
			u.passes++
		}
	case p.alias != nil:
		i := u.random.IntN(len(p.alias))
		if a := &p.alias[i]; a.keep < 1 && u.random.Float64() >= a.keep {
			i = int(a.other)
		}
		u.rest = p.entries[i]
	case p.inTurn:
		u.rest = p.entries[u.deal(u.passes, uint64(len(p.entries)))]
		u.passes++
	default:
		u.rest = p.entries[0]
	}
}

// deal says which of n entries is the user's in its k-th iteration. All users together
// ask for the entries in turn, as if one list were dealt out to them: a user's next
// card is as many further as there are users. When that leads back to where it was,
// without all having had their turn, it goes on one further: two users and two
// targets would otherwise have each user ask for the same target for ever.
func (u *User) deal(k, n uint64) uint64 {
	common, rest := n, u.of%n
	for rest != 0 {
		common, rest = rest, common%rest
	}
	round := n / common // iterations until it is back
	return (u.id + k%round*(u.of%n) + k/round%common) % n
}

// Append appends the bytes of t's request to dst in HTTP/1.1's form: head and
// body, or the head alone if [Target.Stream] has the body. t is what Next returned
// last. Nothing is allocated once dst and the user's own buffers are large enough,
// except by signatures other than HMAC.
func (u *User) Append(dst []byte, t *Target) []byte {
	if t.wire != nil {
		return append(dst, t.wire...)
	}
	dst = u.render(dst, t.head)
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

// View is a request in parts, for HTTP/2. Its slices belong to the user and the
// plan, and are valid until the next call with the same View.
type View struct {
	Method    string
	Scheme    string
	Authority string
	Path      []byte
	Fields    []Field // without Host, and without what frames the body or concerns a connection
	Body      []byte  // empty if Target.Stream has it
	buf       []byte
	ends      []int
}

// View fills v with t's request, which is what Next returned last. It allocates
// nothing once v is warm.
func (u *User) View(v *View, t *Target) {
	v.Method, v.Scheme, v.Authority = t.method, t.scheme, t.host
	v.Fields, v.buf, v.ends = v.Fields[:0], v.buf[:0], v.ends[:0]
	// The buffer may move while it grows: write everything, then cut it up.
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
	v.Body = cut(t.body.content)
	v.ends = ends
}

// ofConnection names the fields that HTTP/2 forbids: RFC 9113, section 8.2.2.
func ofConnection(name string) bool {
	switch name {
	case "connection", "keep-alive", "proxy-connection", "upgrade", "te":
		return true
	}
	return false
}

// Think returns how long the user waits after the answer to t before it asks
// again. It draws: call it once for each request.
func (u *User) Think(t *Target) time.Duration { return t.think.Draw(&u.random) }

// Answer tells the user what came back for t: the status, the header fields as
// HTTP/1.1 writes them (with or without the status line), and the body without
// chunks. Both may be nil if t needs none, and the body may be cut off where the
// caller's memory ends: checks then see that part. Nothing is kept.
//
// It returns the name of the first check that failed, in the order of the file, or
// "". A check that failed does not end a flow, a capture that failed does, for the
// next step needs it. Nothing is allocated when t captures nothing and the checks
// hold.
func (u *User) Answer(t *Target, status int, head, body []byte) (failed string) {
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

// Abort tells the user that the answers to its requests will not come. It goes on
// with a new iteration, or with setup if that was not done.
func (u *User) Abort() { u.rest, u.waiting = nil, false }
