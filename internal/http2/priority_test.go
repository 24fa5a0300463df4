package http2

import (
	"encoding/binary"
	"testing"
)

// TestPriority asks for a large response, and when the window of the connection is used up, for a small
// one: whether the small one is among the next frames depends on the priorities of both.
func TestPriority(t *testing.T) {
	for _, c := range []struct {
		name         string
		large, small string // Priority fields; "" is none
		waits        bool   // the small one waits for the large one
	}{
		{"no signal", "", "", false},
		{"incremental", "u=3, i", "i", false},
		{"in order", "u=3", "u=3", true},
		{"in order, explicitly", "i=?0", "i=?0", true},
		{"the large one in order", "u=3", "", true},
		{"the small one in order", "", "u=3", false},
		{"the small one is more urgent", "u=3", "u=1", false},
		{"the large one is more urgent", "u=2", "", true},
		{"the small one is less urgent", "", "u=4, i", true},
		{"malformed", "u=9", "x", true},
	} {
		for _, update := range []bool{false, true} { // by PRIORITY_UPDATE
			p := newPeer(t, 41, handlers)
			ask := func(id uint32, path, priority string) {
				fields := request("GET", path)
				if priority != "" && !update {
					fields = append(fields, "priority", priority)
				}
				p.headers(id, true, fields...).run()
				if priority != "" && update {
					p.frame(framePriorityUpdate, 0, 0, append(binary.BigEndian.AppendUint32(nil, id), priority...)).run()
				}
			}
			sent := func() int { return len(p.reply(1).body) + len(p.reply(3).body) }
			ask(1, "/large", c.large)
			p.word(frameWindowUpdate, 1, 1<<20)
			p.wait("the window is used up", func() bool { return sent() == defaultWindow })
			ask(3, "/ok", c.small)
			p.wait("the small response waits", func() bool { return p.reply(3).status != "" })
			p.word(frameWindowUpdate, 0, 2*defaultMaxFrame)
			p.wait("the window is used up again", func() bool { return sent() == defaultWindow+2*defaultMaxFrame })
			if r := p.reply(3); r.ended == c.waits {
				t.Errorf("%s, by PRIORITY_UPDATE %v: the small response has come %v", c.name, update, r.ended)
			}
			p.word(frameWindowUpdate, 0, 1<<20)
			p.want(1, "200", large)
			p.want(3, "200", "ok")
			p.close()
		}
	}
}

// TestTurns gives large responses without a priority equal shares.
func TestTurns(t *testing.T) {
	p := newPeer(t, 42, handlers)
	ids := []uint32{1, 3, 5, 7}
	for _, id := range ids {
		p.get(id, "/large").word(frameWindowUpdate, id, 1<<20).run()
	}
	sent := func() (n int) {
		for _, id := range ids {
			n += len(p.reply(id).body)
		}
		return n
	}
	p.wait("all responses wait", func() bool {
		return sent() == defaultWindow && p.reply(3).status+p.reply(5).status+p.reply(7).status == "200200200"
	})
	before := map[uint32]int{}
	for _, id := range ids {
		before[id] = len(p.reply(id).body)
	}
	const shares = 12 * defaultMaxFrame
	p.word(frameWindowUpdate, 0, uint32(len(ids)*shares))
	p.wait("the window is used up again", func() bool { return sent() == defaultWindow+len(ids)*shares })
	for _, id := range ids {
		if n := len(p.reply(id).body) - before[id]; n < shares-2*defaultMaxFrame || n > shares+2*defaultMaxFrame {
			t.Errorf("stream %d has a share of %d bytes, want about %d", id, n, shares)
		}
	}
	p.word(frameWindowUpdate, 0, 1<<30)
	for _, id := range ids {
		p.want(id, "200", large)
	}
	p.close()
}
