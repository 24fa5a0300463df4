package nethttptest

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A program is a handler as a list of instructions, so that handlers can be made
// up at random. Each instruction is two bytes: what to do, and with what.
type program []byte

const instruction = 2

// The instructions. Frequent ones are listed several times.
var instructions = []func(m *machine, arg byte){
	(*machine).write, (*machine).write, (*machine).write, (*machine).flush, (*machine).read, (*machine).read,
	(*machine).set, (*machine).set, (*machine).status, (*machine).info, (*machine).sleep, (*machine).copyFrom,
	(*machine).readAll, (*machine).closeBody, (*machine).trailer, (*machine).leave,
}

// A machine carries out a program for one request.
type machine struct {
	o     *observer
	w     http.ResponseWriter
	r     *http.Request
	began bool // parts of the answer may be on their way
	sent  bool // they are
	n     int  // bytes written
	done  bool
}

// programs is a handler that answers the nth request of a connection with the nth
// program, and over again.
func programs(all []program) func(o *observer, w http.ResponseWriter, r *http.Request) {
	return func(o *observer, w http.ResponseWriter, r *http.Request) {
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err != nil || len(all) == 0 {
			o.note("path %q", r.URL.Path)
			return
		}
		m := &machine{o: o, w: w, r: r}
		p := all[n%len(all)]
		for ; len(p) >= instruction && !m.done; p = p[instruction:] {
			instructions[int(p[0])%len(instructions)](m, p[1])
		}
	}
}

// pick chooses one of several by an instruction's argument.
func pick[T any](arg byte, of ...T) T { return of[int(arg)%len(of)] }

func (m *machine) write(arg byte) {
	n := pick(arg, 5, 0, 1, 100, 2048, 3000, 20_000, 100_000)
	if m.exceeds(n) {
		return
	}
	got, err := io.WriteString(m.w, large[:n])
	m.o.note("write %d: %d, %s", n, got, describe(err))
	m.n += n
	m.begins(m.n > 2048)
}

// exceeds reports whether so many bytes more are too many for a length that was
// announced: net/http ends the connection for that, Redline does not.
func (m *machine) exceeds(n int) bool {
	length, err := strconv.Atoi(m.w.Header().Get("Content-Length"))
	return err == nil && m.n+n > length
}

// begins notes that the answer begins, for net/http. That a client is asked for its
// content when something was written already is deliberate.
func (m *machine) begins(now bool) {
	m.began = m.began || now || m.r.Header.Get("Expect") != ""
}

func (m *machine) flush(byte) {
	m.began, m.sent = true, true
	m.o.err("flush", m.w.(interface{ FlushError() error }).FlushError())
}

// read reads so many bytes. net/http closes the content when the answer begins, and
// Redline does not: what is read then says nothing, and is not done.
func (m *machine) read(arg byte) {
	if m.began {
		return
	}
	p := make([]byte, pick(arg, 5, 1, 100, 3, 100_000))
	n, err := io.ReadFull(m.r.Body, p)
	m.o.note("read %s: %s", brief(p[:n]), describe(err))
}

func (m *machine) readAll(byte) {
	if !m.began {
		m.o.read(m.r.Body)
	}
}

func (m *machine) closeBody(byte) {
	if !m.began {
		m.o.err("close", m.r.Body.Close())
	}
}

func (m *machine) set(arg byte) {
	f := pick(arg, [2]string{"X-A", "b"}, [2]string{"Content-Type", "text/x"}, [2]string{"Connection", "close"}, [2]string{"Content-Length", "5"},
		[2]string{"Content-Length", "100"}, [2]string{"Etag", "\"x\""}, [2]string{"Date", "Thu, 01 Jan 1970 00:00:00 GMT"}, [2]string{"Content-Encoding", "x"},
		[2]string{"X A", "b"}, [2]string{"X-Long", strings.Repeat("v", 3000)})
	m.w.Header().Set(f[0], f[1])
}

func (m *machine) status(arg byte) {
	m.begins(false)
	m.w.WriteHeader(pick(arg, 200, 204, 304, 404, 500, 201, 206, 599))
}

func (m *machine) info(arg byte) {
	m.w.WriteHeader(pick(arg, 103, 102))
}

// trailer announces one, or sets another by prefix where net/http would not drop
// it.
func (m *machine) trailer(byte) {
	if m.sent {
		m.w.Header().Set(http.TrailerPrefix+"X-Late", "1")
		return
	}
	m.w.Header().Add("Trailer", "X-Sum")
	m.w.Header().Set("X-Sum", "2")
}

// sleep is long enough for a loop to be taken over, sometimes.
func (m *machine) sleep(arg byte) {
	time.Sleep(pick(arg, 0, time.Millisecond, 2*time.Millisecond))
}

func (m *machine) copyFrom(arg byte) {
	n := pick(arg, 5, 3000, 50_000)
	if m.exceeds(n) {
		return
	}
	got, err := io.Copy(m.w, strings.NewReader(large[:n]))
	m.o.note("copy %d: %d, %s", n, got, describe(err))
	m.n += n
	m.begins(m.n > 512)
}

// aborts is what a program notes that leaves its answer incomplete.
const aborts = "the handler aborts"

// leave ends the program in one of the ways there are.
func (m *machine) leave(arg byte) {
	m.done = true
	switch arg % 8 {
	case 0:
		m.o.note(aborts)
		panic("of the program")
	case 1:
		m.o.note(aborts)
		panic(http.ErrAbortHandler)
	case 2:
		if m.n > 0 { // net/http would lose some of it
			return
		}
		c, _, err := m.w.(http.Hijacker).Hijack()
		m.o.err("hijack", err)
		if err != nil {
			return
		}
		defer c.Close()
		put(m.o, c, "raw")
	}
}
