package push

import (
	"encoding/json"
	"strings"

	"github.com/redline-go/redline/push/format"
)

// A notice is what the hubs of a cluster tell each other: an event of the broker that no publisher can
// publish, because its type is reserved, and no subscriber gets.
type notice struct {
	Node string
	Ending
}

const (
	noticeTopic = "hub/notices"
	typeEnd     = format.ReservedPrefix + "end"
)

// IsNotice reports whether an event is what one hub of a cluster tells the others, see [Hub.End]: the only one
// with a reserved type that a [Broker] carries. Its topic is "hub/notices", so that a broker with
// rights for each topic can keep others from publishing it.
func IsNotice(e *Event) bool { return e.Topic == noticeTopic && e.Type == typeEnd }

// reserved reports whether an event is for hubs alone.
func reserved(e *Event) bool { return strings.HasPrefix(e.Type, format.ReservedPrefix) }

// notice takes its place in the order from an event that is for hubs alone, and does what it says.
func (h *Hub) notice(r Record) {
	h.mu.Lock()
	if r.Seq <= h.seq || h.closed {
		h.mu.Unlock()
		return
	}
	h.seq = r.Seq
	if !h.cluster.known {
		h.filling()
	}
	h.overtake()
	h.mu.Unlock()
	var n notice
	if !IsNotice(&r.Event) || json.Unmarshal(r.Event.Data, &n) != nil || n.Node == h.o.Node || n.check() != nil {
		return // of a newer version, or this node's own
	}
	if _, err := h.end(&n.Ending); err != nil {
		h.o.Logger.Warn("push: an ending of another node was not kept", "error", err)
	}
}
