package ring

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Responses that need more buffers than there are arrive complete and in order: recvs that
// end for lack of buffers are requested again.
func TestBuffersExhausted(t *testing.T) {
	const conns, size = 8, 4 * minBuffers * bufferSize / 8 // four times what there is
	r := newRing(t, conns)
	others := connect(t, r, conns)
	for i, c := range others {
		r.Receive(i)
		go func() {
			b := make([]byte, size)
			for k := range b {
				b[k] = byte((k + i) % 251)
			}
			_, _ = c.Write(b) // the test misses what does not come
			_ = c.CloseWrite()
		}()
	}
	// While nobody gives buffers back the kernel runs out of them.
	exhausted := false
	var n [conns]int
	ends := 0
	see := func(ev Event) {
		if ev.Room || ev.Errno != 0 {
			t.Fatalf("%+v", ev)
		}
		for k, v := range ev.Data {
			if v != byte((n[ev.Place]+k+ev.Place)%251) {
				t.Fatalf("place %d: byte %d is %d", ev.Place, n[ev.Place]+k, v)
			}
		}
		if n[ev.Place] += len(ev.Data); len(ev.Data) == 0 {
			ends++
		}
	}
	for bound := time.Now().Add(30 * time.Second); !exhausted; {
		if time.Now().After(bound) {
			t.Fatal("there always were buffers")
		}
		if err := r.enter(); err != nil {
			t.Fatal(err)
		}
		for at := r.q.head; at != r.q.cqTail.Load(); at++ {
			exhausted = exhausted || r.q.cqes[at&uint32(len(r.q.cqes)-1)].res == -int32(unix.ENOBUFS)
		}
	}
	for ev, ok := r.Next(); ok; ev, ok = r.Next() {
		see(ev)
	}
	until(t, r, "receive", see, never(t), func() bool { return ends == conns })
	for i := range n {
		if n[i] != size {
			t.Errorf("place %d: %d bytes of %d", i, n[i], size)
		}
	}
}

// More is wanted than the queue holds, and than a batch has slots.
func TestQueueFull(t *testing.T) {
	const conns = entries + 100
	r := newRing(t, conns)
	others := connect(t, r, conns)
	for i := range others {
		r.Receive(i)
		r.AwaitRoom(i)
		r.Send(i, []byte{byte(i), byte(i >> 8)})
	}
	rooms, sent := map[int]bool{}, map[int]bool{}
	until(t, r, "all", func(ev Event) {
		if !ev.Room || rooms[ev.Place] {
			t.Errorf("%+v", ev)
		}
		rooms[ev.Place] = true
	}, func(s Sent) {
		if s.N != 2 || sent[s.Place] {
			t.Errorf("%+v", s)
		}
		sent[s.Place] = true
	}, func() bool { return len(rooms) == conns && len(sent) == conns })
	if r.Waiting() != 0 {
		t.Errorf("%d sends wait", r.Waiting())
	}
	for i, c := range others {
		in := make([]byte, 2)
		if _, err := io.ReadFull(c, in); err != nil || in[0] != byte(i) || in[1] != byte(i>>8) {
			t.Fatalf("connection %d got %v, %v", i, in, err)
		}
		say(t, c, in)
	}
	heard := map[int]bool{}
	until(t, r, "answers", func(ev Event) {
		if len(ev.Data) != 2 || int(ev.Data[0])|int(ev.Data[1])<<8 != ev.Place {
			t.Errorf("%+v", ev)
		}
		heard[ev.Place] = true
	}, never(t), func() bool { return len(heard) == conns })
}

// Completions that the queue had no room for come later, and none is lost; what is to
// be sent waits for them.
func TestCompletionsOverflow(t *testing.T) {
	const conns = 4
	r := newRing(t, conns)
	others := connect(t, r, conns)
	r.Receive(0)
	// Polls that are complete at once, written down by hand: one a completion.
	const polls = minCompletions + 300
	for n := 0; n < polls; {
		for r.q.free() > 0 && n < polls {
			e := r.q.next()
			e.op, e.fd, e.data = opPollAdd, r.places[1].fd, ofCancel<<56
			e.arg[0] = unix.POLLOUT
			n++
		}
		if err := r.q.submit(enterGetEvents); err != nil {
			t.Fatal(err)
		}
	}
	if !r.q.overflown() {
		t.Fatal("there was room for all")
	}
	say(t, others[0], []byte("late"))
	r.Send(2, []byte("later"))
	if err := r.Submit(); err != nil || len(r.Sent()) != 0 || r.Waiting() != 1 {
		t.Fatalf("%+v, %v: a send without room for its completion", r.Sent(), err)
	}
	heard, sent := "", 0
	until(t, r, "late ones", func(ev Event) { heard += string(ev.Data) }, func(s Sent) {
		if sent++; s.Place != 2 || s.N != 5 {
			t.Errorf("%+v", s)
		}
	}, func() bool { return heard == "late" && sent == 1 })
}

// A place that closes takes with it what is wanted of it, what is in flight, and what
// already came; the next socket there is told nothing of it. The server sees the end.
func TestCloseInFlight(t *testing.T) {
	r := newRing(t, 2)
	others := connect(t, r, 2)
	r.Receive(0)
	until(t, r, "submit", func(ev Event) { t.Errorf("%+v", ev) }, never(t), func() bool { return r.places[0].receiving })
	say(t, others[0], []byte("for nobody"))
	for bound := time.Now().Add(30 * time.Second); !r.q.ready(); { // fetched, and not read
		if time.Now().After(bound) {
			t.Fatal("nothing came within 30 s")
		}
		if err := r.q.submit(enterGetEvents); err != nil {
			t.Fatal(err)
		}
	}
	r.Send(0, []byte("never sent"))
	r.AwaitRoom(0)
	r.CloseSocket(0)
	if r.Waiting() != 0 {
		t.Errorf("%d sends wait", r.Waiting())
	}
	ln := listen(t)
	dial(t, r, 0, ln.Addr()) // very likely with the same descriptor
	second, err := ln.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	said := ""
	until(t, r, "second", func(ev Event) {
		if ev.Place != 0 || ev.Errno != 0 {
			t.Errorf("%+v", ev)
		}
		if ev.Room {
			r.Receive(0)
			say(t, second, []byte("hello"))
		}
		said += string(ev.Data)
	}, never(t), func() bool { return said != "" })
	if said != "hello" {
		t.Errorf("the second socket was told %q", said)
	}
	if in, err := io.ReadAll(others[0]); len(in) > 0 || err != nil && !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("the server got %q, %v", in, err)
	}
}

// Connections that come and go with everything in flight leave nothing behind.
func TestNothingStays(t *testing.T) {
	connect(t, newRing(t, 1), 1) // what the runtime opens once is open
	files, maps := openFiles(t), mappings(t)
	for range 20 {
		r, err := New(3)
		if err != nil {
			t.Fatal(err)
		}
		others := connect(t, r, 3)
		for i := range others {
			r.Receive(i)
			r.AwaitRoom(i)
			r.Send(i, []byte("x"))
		}
		if err := r.Submit(); err != nil {
			t.Fatal(err)
		}
		r.Send(1, []byte("y")) // wanted, and not submitted
		r.Close()
		for _, c := range others {
			if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, unix.ECONNRESET) {
				t.Error(err)
			}
			c.Close()
		}
	}
	if n := mappings(t); n != maps {
		t.Errorf("%d mappings of rings, %d before", n, maps)
	}
	// The listeners of connect are open until the test ends.
	if n := openFiles(t); n != files+20 {
		t.Errorf("%d descriptors, %d before and 20 listeners", n, files)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// mappings is how many queues are mapped.
func mappings(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "[io_uring]")
}
