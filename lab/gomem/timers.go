package gomem

import (
	"cmp"
	"errors"
	"slices"
)

// WaitTimer is what profiles have instead of Goroutine.Reason if Goroutine.Timed is set.
const WaitTimer = "timer"

// maxChannels is how many channels a goroutine waits for at most that is found to be Timed.
const maxChannels = 8

// Fields of runtime.sudog, an entry of the list of what a goroutine waits for.
const (
	fNext = iota
	fChannel
)

// Fields of runtime.hchan, a channel.
const (
	fTimer   = iota // that feeds it; set when the channel is made, since Go 1.23
	fBuffer         // elements that it has room for
	fElement        // bytes of an element
	fSender         // first goroutine that waits to send
)

var (
	entryNames   = []string{"sudog.waitlink", "sudog.c"}
	channelNames = []string{"hchan.timer", "hchan.dataqsiz", "hchan.elemsize", "hchan.sendq.first"}
)

// A link leads from a goroutine to something that it waits for.
type link struct {
	g    int    // index of the goroutine in the list of those that are looked at
	addr uint64 // of a sudog, or of a channel
	at   int    // where it is in the batch; -1: nothing is mapped there
}

// A feed says what the channels of a goroutine are.
type feed uint8

const (
	byTimer feed = 1 << iota // a channel has a timer
	byOther                  // a channel is one on which goroutines hand something over, or is unknown
)

// findTimers sets Goroutine.Timed of goroutines that were read. They wait while it follows what
// they wait for, or the caller finds that they have run: what was read of one that has run can be
// anything.
func (p *Process) findTimers(run []int32) error {
	k := &p.snaps
	entry, channel := newObjects(p.layout, entryNames), newObjects(p.layout, channelNames)
	if !p.has(entryNames...) || !p.has(channelNames...) || max(entry.size, channel.size) > maxSpan {
		return nil
	}
	feeds := make([]feed, len(run))
	k.links = k.links[:0]
	for i, n := range run {
		last := &k.last[n]
		if why := last.goroutine.Reason; last.list != 0 && (why == "select" || why == "chan receive") {
			k.links = append(k.links, link{g: i, addr: last.list})
		}
	}
	if err := p.findChannels(feeds, &entry); err != nil {
		return err
	}
	if err := p.load(k.channels, &channel); err != nil {
		return err
	}
	for _, l := range k.channels {
		feeds[l.g] |= p.feeds(l, &channel)
	}
	for i, n := range run {
		k.last[n].goroutine.Timed = feeds[i] == byTimer
	}
	return nil
}

// findChannels follows the lists at the links of the snapshots to the channels.
func (p *Process) findChannels(feeds []feed, entry *objects) error {
	k := &p.snaps
	k.channels = k.channels[:0]
	rest := k.links
	for range maxChannels {
		if err := p.load(rest, entry); err != nil {
			return err
		}
		links := rest
		rest = rest[:0]
		for _, l := range links {
			var channel, next uint64
			if l.at >= 0 {
				channel, next = entry.get(k.again.buf[l.at:], fChannel), entry.get(k.again.buf[l.at:], fNext)
			}
			if channel == 0 { // the goroutine has run
				feeds[l.g] |= byOther
				continue
			}
			k.channels = append(k.channels, link{g: l.g, addr: channel})
			if next != 0 {
				rest = append(rest, link{g: l.g, addr: next})
			}
		}
	}
	for _, l := range rest { // those of more channels
		feeds[l.g] |= byOther
	}
	return nil
}

// feeds says what a channel that was read is. One that is only closed, as that of a context, has no
// buffer and empty elements, and no goroutine waits to send to it.
func (p *Process) feeds(l link, part *objects) feed {
	if l.at < 0 {
		return byOther
	}
	b := p.snaps.again.buf[l.at:]
	switch {
	case part.get(b, fTimer) != 0:
		return byTimer
	case part.get(b, fBuffer) != 0, part.get(b, fElement) != 0, part.get(b, fSender) != 0:
		return byOther
	}
	return 0
}

// load reads the part of an object at the end of each link. Neighbours become one region.
func (p *Process) load(links []link, part *objects) error {
	slices.SortFunc(links, func(a, b link) int { return cmp.Compare(a.addr, b.addr) })
	b := &p.snaps.again
	b.reset()
	for i := range links {
		links[i].at = b.add(links[i].addr+uint64(part.from), part.size)
	}
	err := p.mem.read(b)
	if !errors.Is(err, errAddress) {
		return err
	}
	for i := range links { // a goroutine has run, and what was taken for an address is none
		l := &links[i]
		err := p.mem.one(b.buf[l.at:l.at+part.size], l.addr+uint64(part.from))
		if errors.Is(err, errAddress) {
			l.at = -1
		} else if err != nil {
			return err
		}
	}
	return nil
}

// wait returns what the goroutine waits for, as profiles have it.
func (g *Goroutine) wait() string {
	if g.Timed {
		return WaitTimer
	}
	return g.Reason
}
