package redline

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/redline-go/redline/internal/exchange"
	"github.com/redline-go/redline/internal/learn"
)

// A Router finds the handler for a method and a path.
//
// A pattern is a path whose segments are literals, parameters or, as the last segment, a
// rest. A parameter "{name}" matches one non-empty segment; a rest "{name...}" matches the
// remaining path, which may be empty. A literal takes precedence over a parameter, and a
// parameter over a rest; matching backtracks if the first choice leads to no route, or to
// none for the method. Paths are matched percent-encoded, as received.
//
// HEAD is answered by the handler of GET unless it has its own. A path that exists under
// other methods gets 405 with Allow, OPTIONS gets 204 with Allow, and any other path 404.
// OPTIONS * gets 204. CONNECT names a host and no path, so no pattern can match it; it gets
// 501.
//
// Add routes before the router serves, from one goroutine. The zero value is ready to use.
type Router struct {
	// NotFound answers paths that no pattern matches, for any method; nil means 404 with
	// plain text.
	NotFound HandlerFunc

	root   node
	routes []*route
	latest atomic.Pointer[Server] // the server that served last: it knows the routes, for its Stats
}

// NewRouter returns an empty router, as new(Router) does.
func NewRouter() *Router { return &Router{} }

// A node represents the path up to some segment.
type node struct {
	literals []literal // sorted by text
	param    *node
	rest     *node
	routes   []*route // routes that end here
}

type literal struct {
	text string
	node *node
}

// GET adds a route for the method and for HEAD, see Handle.
func (r *Router) GET(pattern string, h HandlerFunc) { r.Handle("GET", pattern, h) }

// POST adds a route for the method, see Handle.
func (r *Router) POST(pattern string, h HandlerFunc) { r.Handle("POST", pattern, h) }

// PUT adds a route for the method, see Handle.
func (r *Router) PUT(pattern string, h HandlerFunc) { r.Handle("PUT", pattern, h) }

// PATCH adds a route for the method, see Handle.
func (r *Router) PATCH(pattern string, h HandlerFunc) { r.Handle("PATCH", pattern, h) }

// DELETE adds a route for the method, see Handle.
func (r *Router) DELETE(pattern string, h HandlerFunc) { r.Handle("DELETE", pattern, h) }

// Handle adds a route; an empty method matches any. It panics if the pattern is malformed
// or the route exists, and says which.
func (r *Router) Handle(method, pattern string, h HandlerFunc) {
	segments, names, err := parsePattern(pattern)
	if err == nil && method != "" && !exchange.ValidName(method) {
		err = fmt.Errorf("method %q is not a token", method)
	}
	if err != nil {
		panic(fmt.Sprintf("redline: route %s %s: %v", method, pattern, err))
	}
	n := &r.root
	for _, s := range segments {
		n = n.child(s)
	}
	for _, other := range n.routes {
		if other.method == method {
			panic(fmt.Sprintf("redline: route %s %s: already exists as %s", method, pattern, other.pattern))
		}
	}
	rt := &route{method: method, pattern: pattern, handler: h, names: names}
	rt.watch.Overran = func(*learn.Watch) { rt.habit.Overran() }
	n.routes = append(n.routes, rt)
	r.routes = append(r.routes, rt)
}

// The kinds of segments.
const (
	isLiteral = iota
	isParam
	isRest
)

type segment struct {
	kind int
	text string // for literals
}

func parsePattern(pattern string) (segments []segment, names []string, err error) {
	if !strings.HasPrefix(pattern, "/") {
		return nil, nil, fmt.Errorf("a pattern must begin with a slash")
	}
	parts := strings.Split(pattern[1:], "/")
	for i, part := range parts {
		if !strings.ContainsAny(part, "{}") {
			segments = append(segments, segment{kind: isLiteral, text: part})
			continue
		}
		name, ok := strings.CutPrefix(part, "{")
		name, closed := strings.CutSuffix(name, "}")
		if !ok || !closed || strings.ContainsAny(name, "{}") {
			return nil, nil, fmt.Errorf("segment %q: a parameter must be the whole segment, {name} or {name...}", part)
		}
		kind := isParam
		if rest, ok := strings.CutSuffix(name, "..."); ok {
			name, kind = rest, isRest
			if i < len(parts)-1 {
				return nil, nil, fmt.Errorf("segment %q matches the rest: nothing can follow", part)
			}
		}
		if name == "" || slices.Contains(names, name) {
			return nil, nil, fmt.Errorf("segment %q: the name is empty or used twice", part)
		}
		names = append(names, name)
		segments = append(segments, segment{kind: kind})
	}
	if len(names) > maxParams {
		return nil, nil, fmt.Errorf("%d parameters: the maximum is %d", len(names), maxParams)
	}
	return segments, names, nil
}

func (n *node) child(s segment) *node {
	switch s.kind {
	case isParam:
		if n.param == nil {
			n.param = new(node)
		}
		return n.param
	case isRest:
		if n.rest == nil {
			n.rest = new(node)
		}
		return n.rest
	}
	i, found := slices.BinarySearchFunc(n.literals, s.text, func(l literal, text string) int { return strings.Compare(l.text, text) })
	if !found {
		n.literals = slices.Insert(n.literals, i, literal{text: s.text, node: new(node)})
	}
	return n.literals[i].node
}

// maxParams is the maximum number of parameters of a pattern.
const maxParams = 16

// pathOf returns the path of a request, percent-encoded, in borrowed memory: "/" if its
// target has none (RFC 9110, 4.2.3), and nothing for CONNECT, whose target is a host. This
// package uses only this path: for matching, for the offsets of parameters and for
// handlers. An offset into one path is meaningless in another.
func pathOf(x *exchange.Exchange) []byte {
	if x.Path.Len == 0 && x.Method != exchange.MethodConnect {
		return []byte{'/'} // belongs to the caller: a shared slice could be changed for all
	}
	return x.PathBytes()
}

// params are the values of the parameters of a match, as offsets into pathOf: the bytes
// themselves may move while the handler runs.
type params struct {
	n      int
	values [maxParams]exchange.Span
	names  []string
}

func (p *params) reset() { p.n, p.names = 0, nil }

// get returns the value of a parameter of the match for x, or nil.
func (p *params) get(name string, x *exchange.Exchange) []byte {
	for i, n := range p.names {
		if n == name && i < p.n && p.values[i].Len > 0 {
			return p.values[i].In(pathOf(x))
		}
	}
	return nil
}

// last returns the value of the last parameter of the match for x, which must exist.
func (p *params) last(x *exchange.Exchange) []byte { return p.values[p.n-1].In(pathOf(x)) }

// match finds the route for path[at:], which begins after a slash.
func (n *node) match(x *exchange.Exchange, path []byte, at int, p *params) *route {
	end := len(path)
	if i := bytes.IndexByte(path[at:], '/'); i >= 0 {
		end = at + i
	}
	text, last := path[at:end], end == len(path)
	for i := range n.literals {
		if l := &n.literals[i]; l.text == string(text) {
			if found := l.node.descend(x, path, end, last, p); found != nil {
				return found
			}
			break
		}
	}
	mark := p.n
	if n.param != nil && end > at {
		p.push(at, end)
		if found := n.param.descend(x, path, end, last, p); found != nil {
			return found
		}
		p.n = mark
	}
	if n.rest != nil {
		p.push(at, len(path))
		if found := n.rest.route(x); found != nil {
			return found
		}
		p.n = mark
	}
	return nil
}

// descend continues after a segment that ends at end.
func (n *node) descend(x *exchange.Exchange, path []byte, end int, last bool, p *params) *route {
	if !last {
		return n.match(x, path, end+1, p)
	}
	return n.route(x)
}

// methods appends the methods of all routes for path[at:].
func (n *node) methods(path []byte, at int, to []string) []string {
	end := len(path)
	if i := bytes.IndexByte(path[at:], '/'); i >= 0 {
		end = at + i
	}
	nodes := make([]*node, 0, 2)
	for i := range n.literals {
		if l := &n.literals[i]; l.text == string(path[at:end]) {
			nodes = append(nodes, l.node)
		}
	}
	if n.param != nil && end > at {
		nodes = append(nodes, n.param)
	}
	for _, next := range nodes {
		if end < len(path) {
			to = next.methods(path, end+1, to)
		} else {
			to = next.ownMethods(to)
		}
	}
	if n.rest != nil {
		to = n.rest.ownMethods(to)
	}
	return to
}

func (n *node) ownMethods(to []string) []string {
	for _, rt := range n.routes {
		if to = append(to, rt.method); rt.method == "GET" {
			to = append(to, "HEAD")
		}
	}
	return to
}

func (p *params) push(at, end int) {
	p.values[p.n] = exchange.Span{Off: uint32(at), Len: uint32(end - at)}
	p.n++
}

// Serve routes a request. It is a [HandlerFunc], for [Server.Native]. One router may serve
// several servers.
func (r *Router) Serve(c *Ctx) {
	x := c.exchange()
	f := x.Local.(*frame)
	r.introduce(f.server)
	path := pathOf(x)
	// Most requests of a connection have the same path as the previous one.
	if f.method == x.Method && f.by == r && f.recent.pattern == string(path) {
		f.route = f.recent
		f.route.serve(c)
		return
	}
	var rt *route
	if len(path) > 0 && path[0] == '/' {
		rt = r.root.match(x, path, 1, &f.params)
	}
	if rt == nil {
		f.params.reset()
		r.missing(c, path)
		return
	}
	f.route, f.params.names = rt, rt.names
	if len(rt.names) == 0 && x.Method != exchange.MethodOther { // MethodOther is several methods
		f.recent, f.by, f.method = rt, r, x.Method
	}
	rt.serve(c)
}

// introduce registers the routes with the server, for its Stats.
func (r *Router) introduce(s *Server) {
	if r.latest.Load() == s {
		return
	}
	s.mu.Lock()
	if len(r.routes) > 0 && !slices.Contains(s.routes, r.routes[0]) {
		s.routes = append(s.routes, r.routes...)
	}
	s.mu.Unlock()
	r.latest.Store(s)
}

// route finds the route for the request's method.
func (n *node) route(x *exchange.Exchange) *route {
	method := x.MethodBytes()
	var get, wild *route
	for _, rt := range n.routes {
		switch rt.method {
		case string(method):
			return rt
		case "":
			wild = rt
		case "GET":
			get = rt
		}
	}
	if x.Method == exchange.MethodHead && get != nil {
		return get
	}
	return wild
}

// missing answers a request that has no route.
func (r *Router) missing(c *Ctx, path []byte) {
	x := c.exchange()
	var allow []string
	if len(path) > 0 && path[0] == '/' {
		allow = r.root.methods(path, 1, nil)
	}
	options := x.Method == exchange.MethodOptions
	switch {
	case len(path) == 0:
		// Only CONNECT has no path. A pattern begins with a slash, so CONNECT is
		// implemented for no resource at all: that is 501 (RFC 9110, 9.1 and 15.6.2). 405
		// is for a method that other resources support, and has to list in Allow what this
		// one supports (15.5.6); but a host to tunnel to (9.3.6) is not a resource of this
		// server. A CONNECT with a path, as net/rpc sends under net/http, is routed by that
		// path.
		c.Error(501)
	case len(allow) > 0:
		allow = append(allow, "OPTIONS")
		slices.Sort(allow)
		x.Response.Replace(exchange.Line{Name: "Allow", Value: strings.Join(slices.Compact(allow), ", ")})
		if options {
			c.NoContent(204)
		} else {
			c.Error(405)
		}
	case options && string(path) == "*":
		c.NoContent(204)
	case r.NotFound != nil:
		r.NotFound(c)
	default:
		c.Error(404)
	}
}
