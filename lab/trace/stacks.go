package trace

import (
	"fmt"
	"slices"
	"strings"

	xtrace "golang.org/x/exp/trace"
)

const (
	maxStacks = 20_000 // distinct ones that are remembered beyond their generation
	maxFrames = 32     // of a stack in a report
	maxName   = 200    // bytes of a name
)

// use is what a stack says about the goroutine that has it.
type use uint8

const (
	useNone    use = iota
	useReading     // net/http: it waits for the next request of a connection, or reads its head
	useServing     // net/http: it serves a request
	useIdle        // it waits for work
	useProfile     // net/http/pprof: it serves a profile or this trace
)

// stack is an interned stack.
type stack struct {
	frames  []string // the innermost first
	root    string   // the function that the goroutine began with
	call    string   // in short
	use     use
	handler string // of a stack that serves a request; may be empty
}

// idle reports whether a wait on the stack makes nothing slow.
func (s *stack) idle() bool { return s.use == useIdle || s.use == useReading || s.use == useProfile }

// where returns the stack for a report.
func (s *stack) where() Where { return Where{Call: s.call, Frames: s.frames} }

// stacks interns stacks. Handles are valid within a generation, which they keep in memory.
type stacks struct {
	handles map[xtrace.Stack]*stack
	texts   map[string]*stack
	dropped uint64
}

func newStacks() *stacks {
	return &stacks{handles: map[xtrace.Stack]*stack{}, texts: map[string]*stack{}}
}

// generation forgets the handles: the next generation has others.
func (s *stacks) generation() { s.handles = map[xtrace.Stack]*stack{} }

// of returns the interned stack, or nil if there is none.
func (s *stacks) of(handle xtrace.Stack) *stack {
	if handle == xtrace.NoStack {
		return nil
	}
	if known, ok := s.handles[handle]; ok {
		return known
	}
	st := s.intern(handle)
	s.handles[handle] = st
	return st
}

func (s *stacks) intern(handle xtrace.Stack) *stack {
	var names, frames []string
	for f := range handle.Frames() {
		name := short(f.Func)
		names = append(names, name)
		if len(frames) < maxFrames {
			frames = append(frames, fmt.Sprintf("%s %s:%d", name, short(f.File), f.Line))
		}
	}
	if len(names) == 0 {
		return nil
	}
	text := strings.Join(frames, "\n") + "\n" + names[len(names)-1]
	if known, ok := s.texts[text]; ok {
		return known
	}
	st := &stack{frames: frames, root: names[len(names)-1], call: callOf(names)}
	st.use, st.handler = useOf(names)
	if len(s.texts) >= maxStacks {
		s.dropped++
		return st
	}
	s.texts[text] = st
	return st
}

// short limits the length of a name, which may be any text.
func short(name string) string {
	if len(name) > maxName {
		name = name[:maxName] + "..."
	}
	return strings.ToValidUTF8(name, "?")
}

// callOf says in short where a stack is: the outermost function of the standard library that the
// program called, and the function of the program that called it.
func callOf(names []string) string {
	leaf := 0
	for leaf < len(names)-1 && hidden(names[leaf]) {
		leaf++
	}
	user := leaf
	for user < len(names) && library(names[user]) {
		user++
	}
	switch {
	case user == len(names) && leaf == user-1:
		return names[leaf]
	case user == len(names): // nothing but the standard library
		return names[leaf] + " in " + names[user-1]
	case user == leaf:
		return names[user]
	}
	return names[user-1] + " in " + names[user]
}

// hidden reports whether a function is a detail of the runtime.
func hidden(name string) bool {
	return strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "syscall.runtime_")
}

// library reports whether a function belongs to the standard library: its import path has no dot
// in the first element, and is not main.
func library(name string) bool {
	path := name
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		path = path[:strings.IndexByte(path, '/')]
		return !strings.Contains(path, ".") && standard[path]
	}
	pkg, _, _ := strings.Cut(path, ".")
	return standard[pkg]
}

// standard lists the first elements of the import paths of the standard library.
var standard = func() map[string]bool {
	list := map[string]bool{}
	for name := range strings.FieldsSeq(`archive arena bufio bytes cmp compress container context crypto database debug embed
		encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect
		regexp runtime simd slices sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak`) {
		list[name] = true
	}
	return list
}()

const (
	connServe   = "net/http.(*conn).serve"
	handlerFunc = "net/http.HandlerFunc.ServeHTTP"
)

// useOf reads a stack of net/http by the function that conn.serve called.
func useOf(names []string) (u use, handler string) {
	root := len(names) - 1
	if streamHandler(names[root]) {
		return useServing, handlerOf(names[:root])
	}
	for ; root >= 0 && names[root] != connServe; root-- {
	}
	if root < 1 {
		return idleUse(names), ""
	}
	if slices.ContainsFunc(names[:root], func(n string) bool { return strings.HasPrefix(n, "net/http/pprof.") }) {
		return useProfile, ""
	}
	switch child := names[root-1]; child {
	case "bufio.(*Reader).Peek", "net/http.(*conn).readRequest":
		return useReading, ""
	case "crypto/tls.(*Conn).HandshakeContext", "net/http.(*connReader).startBackgroundRead", "net/http.(*conn).close", "net/http.(*conn).closeWriteAndWait":
		return useNone, ""
	}
	if strings.Contains(names[root-1], "setState") || strings.Contains(names[root-1], "conn).serve.func") {
		return useNone, "" // the connection begins or ends
	}
	return useServing, handlerOf(names[:root])
}

// streamHandler reports whether a goroutine with this first function serves one request of HTTP/2.
func streamHandler(root string) bool {
	return strings.HasSuffix(root, "erverConn).runHandler") && strings.Contains(root, "http")
}

// handlerOf returns the innermost function that was called as an http.HandlerFunc or, if there is
// none, the outermost function outside of net/http. It is empty if the handler is not on the stack.
func handlerOf(names []string) string {
	for i := 0; i+1 < len(names); i++ {
		if names[i+1] == handlerFunc && names[i] != handlerFunc {
			return names[i]
		}
	}
	served := false
	for i := len(names) - 1; i >= 0; i-- {
		served = served || strings.HasSuffix(names[i], "ServeHTTP") || strings.Contains(names[i], "andler")
		// What net/http itself calls, to find the handler perhaps, is none.
		if served && !library(names[i]) {
			return names[i]
		}
	}
	return ""
}

// idleUse returns [useIdle] if the goroutine waits for work: nothing is slow because of it.
func idleUse(names []string) use {
	if root := names[len(names)-1]; strings.HasPrefix(root, "runtime.") || strings.HasPrefix(root, "runtime/") {
		return useIdle
	}
	for _, n := range names {
		switch {
		case strings.HasSuffix(n, ").Accept"), strings.HasSuffix(n, ").readFrames"), strings.HasSuffix(n, "erverConn).serve"),
			n == "os/signal.loop", n == "net/http.(*connReader).backgroundRead", n == "net/http.(*persistConn).readLoop",
			n == "net/http.(*persistConn).writeLoop":
			return useIdle
		}
	}
	return useNone
}
