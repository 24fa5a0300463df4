// Package sample generates traces and reads them, for the tests of the page.
package sample

import (
	"bytes"
	"context"
	"fmt"

	"github.com/redline-go/redline/lab/trace"
	"github.com/redline-go/redline/lab/trace/tracetest"
)

const (
	us      = 1000
	hostile = `</script><script>window.pwned=1</script><img src=x onerror="window.pwned=2">`
)

// Report returns the report of a trace of a kind: usual, nothing (one event), many (100 Ps), or
// hostile (names full of markup).
func Report(kind string) (*trace.Report, error) {
	var b bytes.Buffer
	w := tracetest.New(&b)
	switch kind {
	case "usual":
		serve(w, 4, "order", "main.(*shop).order")
	case "many":
		serve(w, 100, "order", "main.(*shop).order")
	case "hostile":
		serve(w, 2, hostile, hostile)
	case "nothing":
		w.Begin(us)
		w.Thread(1)
	default:
		return nil, fmt.Errorf("no kind %q: write usual, nothing, many or hostile", kind)
	}
	if err := w.End(); err != nil {
		return nil, err
	}
	r, err := trace.Read(context.Background(), &b, trace.Options{})
	if err == nil && kind == "hostile" {
		r.Partial, r.Source = hostile, hostile
	}
	return r, err
}

// serve writes a trace of tasks on each of some Ps, and of a collection.
func serve(w *tracetest.Writer, ps uint64, task, function string) {
	w.Begin(us)
	threads := make([]*tracetest.Thread, ps)
	for i := range threads {
		threads[i] = w.Thread(uint64(i) + 1)
	}
	at, id := uint64(2*us), uint64(0)
	for turn := range uint64(40) {
		for i, m := range threads {
			id++
			g := 100 + id
			m.Create(at, g, function, "main.main")
			m.Start(at+5*us, g)
			m.Task(at+6*us, id, 0, task)
			m.Syscall(at+10*us, "syscall.read", function)
			m.SyscallEnd(at + 14*us)
			if i == 0 && turn%10 == 0 {
				m.StopWorld(at+15*us, "GC sweep termination")
				m.GC(at+16*us, true)
				m.StartWorld(at + 17*us)
				m.Assist(at+17*us+1, "main.alloc", function)
				m.Assist(at + 19*us)
				m.GC(at+19*us+1, false)
			}
			m.Block(at+20*us, "sync", "sync.(*Mutex).Lock", function)
			m.Unblock(at+(30+turn)*us, g, "sync.(*Mutex).Unlock", function)
			m.Start(at+(33+turn)*us, g)
			m.TaskEnd(at+(40+turn)*us, id)
			m.Destroy(at + (41+turn)*us)
			at += 2 * us
		}
		at += 90 * us
	}
}
