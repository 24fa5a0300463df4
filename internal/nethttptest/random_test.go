package nethttptest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// requestsOf makes requests of bytes, three for each: what it is, how much content,
// and how it is sent. It returns them as steps.
func requestsOf(b []byte) (steps []step, all string) {
	var heads []int
	n, pending := 0, ""
	for ; len(b) >= 3 && n < 5; b = b[3:] {
		raw, method := requestOf(b[0], b[1], n)
		if method == "HEAD" {
			heads = append(heads, n)
		}
		n++
		all += raw
		switch how := b[2] % 4; {
		case how == 0: // with the next
			pending += raw
			continue
		case how == 1 && len(raw) > 1: // in two pieces
			cut := 1 + int(b[2]/4)*len(raw)/64%(len(raw)-1)
			steps = append(steps, say(pending+raw[:cut]), say(raw[cut:]))
		default:
			steps = append(steps, say(pending+raw))
		}
		pending = ""
		steps = append(steps, hear(n))
	}
	if pending != "" {
		steps = append(steps, say(pending), hear(n))
	}
	return append([]step{toHEAD(heads...)}, steps...), all
}

// requestOf makes one request, with the number in its path.
func requestOf(kind, size byte, n int) (raw, method string) {
	method = pick(kind, "GET", "POST", "HEAD", "PUT")
	version := pick(kind>>2, "1.1", "1.1", "1.1", "1.0")
	lines := []string{fmt.Sprintf("%s /%d HTTP/%s", method, n, version), "Host: h"}
	switch connection := kind >> 4 % 4; {
	case connection == 1:
		lines = append(lines, "Connection: close")
	case connection == 2 && version == "1.1": // what is kept of 1.0 depends on what has a length
		lines = append(lines, "Connection: keep-alive")
	}
	if method == "GET" || method == "HEAD" {
		return message(lines...), method
	}
	content := large[:pick(size, 5, 0, 1, 1000, 100_000, 300_000)]
	if version == "1.0" { // net/http cuts its answer when it leaves much unread
		content = content[:min(len(content), 1000)]
	}
	switch {
	case size>>3%2 == 1 && len(content) < 300_000 && version == "1.1":
		lines = append(lines, "Expect: 100-continue")
	case size>>4%2 == 1 && version == "1.1":
		half := len(content) / 2
		coded := encode(slices.DeleteFunc([]string{content[:half], content[half:]}, func(s string) bool { return s == "" })...)
		return message(append(lines, "Transfer-Encoding: chunked")...) + coded + "0\r\n\r\n", method
	}
	return message(append(lines, fmt.Sprintf("Content-Length: %d", len(content)))...) + content, method
}

// programsOf cuts bytes into programs.
func programsOf(b []byte) (all []program) {
	for part := range strings.SplitSeq(string(b), "\xff") {
		all = append(all, program(part[:min(len(part), 12*instruction)]))
	}
	return all[:min(len(all), 5)]
}

// randomTrial is the trial that handlers and requests make.
func randomTrial(handlers, requests []byte) *trial {
	steps, _ := requestsOf(requests)
	return &trial{handle: programs(programsOf(handlers)), play: steps}
}

// checkRandom plays a random trial. When the engines disagree, it asks both again:
// either may disagree with itself where it depends on time. Nothing follows when
// net/http does so or a client was slow, and no more when they agree after all.
func checkRandom(t *testing.T, handlers, requests []byte) (decided bool) {
	tr := randomTrial(handlers, requests)
	ref := tr.start(netHTTP, t.TempDir())
	for _, e := range candidates() {
		red := tr.start(e, t.TempDir())
		got, _ := compare(ref.clone(), red, &cuts, &unannounced)
		unsure := ref.slow || red.slow
		for n := 0; n < 5 && got != ""; n++ {
			again, red := tr.start(netHTTP, t.TempDir()), tr.start(e, t.TempDir())
			unsure = unsure || again.slow || red.slow || diff(ref.dump(), again.dump()) != ""
			got, _ = compare(again, red, &cuts, &unannounced)
		}
		if got == "" {
			continue
		}
		if unsure {
			return false
		}
		_, raw := requestsOf(requests)
		t.Errorf("%s differs from net/http:\n%s\nrequests %s\nhandlers %x, requests %x", e.name, indent(got), brief([]byte(raw)), handlers, requests)
	}
	return true
}

// cuts end an answer that the handler left incomplete. How much of it was on its way
// is chance, unless it was flushed: trials of their own see to that.
var cuts = rule{
	reason{"Cut answers", "Of an answer that is cut short, the one may have sent more than the other, or nothing yet."},
	func(ref, red *outcome) (applied bool) {
		for i := range min(len(ref.conns), len(red.conns)) {
			a, b := &ref.conns[i], &red.conns[i]
			if a.fate != "closed" || b.fate != "closed" {
				continue
			}
			last := func(k *connOutcome) *answer {
				if len(k.answers) == 0 {
					return nil
				}
				l := &k.answers[len(k.answers)-1]
				if !l.whole || (l.toEOF || l.toHEAD) && slices.Contains(ref.seen, aborts) { // of these it does not show
					return l
				}
				return nil
			}
			x, y := last(a), last(b)
			switch {
			case x == nil && y == nil:
				continue
			case x == nil && len(b.answers) == len(a.answers)+1:
				a.answers = append(slices.Clip(a.answers), *y)
			case y == nil && len(a.answers) == len(b.answers)+1:
				a.answers = a.answers[:len(b.answers)]
			case x != nil && y == nil && len(a.answers) == len(b.answers) && !slices.Contains(ref.seen, aborts):
				// net/http has closed with content unread, and lost what was on its way.
				whole := &b.answers[len(b.answers)-1]
				if !bytes.HasPrefix(whole.body, x.body) {
					continue
				}
				x.body, x.trailer, x.whole = whole.body, whole.trailer, true
			case x != nil && y != nil && (bytes.HasPrefix(x.body, y.body) || bytes.HasPrefix(y.body, x.body)):
				x.body = y.body
			default:
				continue
			}
			applied = true
		}
		return applied
	},
}

// unannounced is the end of a connection whose answer was on its way before the
// server knew that too much content is left.
var unannounced = rule{
	reason{"Ends that are not announced", "An answer may be on its way when it shows that a connection has to end. Both end it."},
	func(ref, red *outcome) (applied bool) {
		for i := range min(len(ref.conns), len(red.conns)) {
			a, b := &ref.conns[i], &red.conns[i]
			if len(a.answers) == 0 || len(a.answers) != len(b.answers) || a.fate != "closed" || b.fate != "closed" {
				continue
			}
			x, y := &a.answers[len(a.answers)-1], &b.answers[len(b.answers)-1]
			if at := slices.Index(x.fields, closing); at >= 0 && y.get("Connection") == "" {
				x.fields, applied = slices.Delete(slices.Clone(x.fields), at, at+1), true
			}
		}
		return applied
	},
}

// TestRandomHandlers plays made-up handlers to made-up clients: always the same
// ones.
func TestRandomHandlers(t *testing.T) {
	const batches, each = 16, 12
	for batch := range batches {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, uint64(batch)))
			undecided := 0
			for range each {
				handlers, requests := make([]byte, 2+r.IntN(40)), make([]byte, 3*(1+r.IntN(4)))
				for _, b := range [][]byte{handlers, requests} {
					for i := range b {
						b[i] = byte(r.Uint32())
					}
				}
				if !checkRandom(t, handlers, requests) {
					undecided++
				}
				if t.Failed() {
					return
				}
			}
			if undecided > each/2 {
				t.Errorf("net/http disagrees with itself in %d of %d", undecided, each)
			}
		})
	}
}

// FuzzHandlers plays any handler to any client.
func FuzzHandlers(f *testing.F) {
	f.Add([]byte{0, 0}, []byte{0, 0, 2})
	f.Add([]byte{4, 0, 0, 0, 3, 0, 0, 0}, []byte{1, 0, 2, 0, 0, 2})
	f.Add([]byte{0, 0, 0xff, 15, 0, 0xff, 15, 2}, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{6, 3, 0, 0, 0, 0}, []byte{0, 0, 2})
	f.Add([]byte{14, 0, 0, 5, 3, 0}, []byte{0x11, 20, 9})
	f.Fuzz(func(t *testing.T, handlers, requests []byte) {
		if len(handlers) > 200 || len(requests) > 30 {
			return // longer than anything new could need
		}
		checkRandom(t, handlers, requests)
	})
}
