package push

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// metricsType is the Content-Type of Prometheus' text format.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// Metrics returns a handler that answers with the hub's [Stats] in Prometheus' text format, for GET and
// HEAD. Who may ask is for the service to decide: mount it where its other metrics are.
func (h *Hub) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "metrics are read with GET", http.StatusMethodNotAllowed)
			return
		}
		st := h.Stats()
		w.Header().Set("Content-Type", metricsType)
		w.Header().Set("Cache-Control", "no-store")
		if r.Method == http.MethodGet {
			_, _ = w.Write(st.appendMetrics(nil)) // the client has left
		}
	})
}

// A metric is one family of the text format. One without a label has one sample.
type metric struct {
	name, kind, help string
	value            float64
	label            string
	values           map[string]uint64 // by the label's value
}

const (
	counter = "counter"
	gauge   = "gauge"
)

func (st *Stats) metrics() []metric {
	linked := 0.0
	if st.Linked {
		linked = 1
	}
	return []metric{
		{name: "subscribers", kind: gauge, help: "Subscribers of this node.", value: float64(st.Subscribers)},
		{name: "topics", kind: gauge, help: "Topics whose history is known.", value: float64(st.Topics)},
		{name: "history_events", kind: gauge, help: "Events in the history.", value: float64(st.Events)},
		{name: "history_bytes", kind: gauge, help: "Bytes of events in the history.", value: float64(st.HistoryBytes)},
		{name: "memory_bytes", kind: gauge, help: "Bytes that count for MaxBytes.", value: float64(st.Bytes)},
		{name: "queue_events", kind: gauge, help: "Events that wait in the queues of subscribers.", value: float64(st.Waiting)},
		{name: "queue_bytes", kind: gauge, help: "Bytes of events that wait, counted for each queue.", value: float64(st.WaitingBytes)},
		{name: "revoked", kind: gauge, help: "Users and tokens that may not listen.", value: float64(st.Revoked)},
		{name: "broker_linked", kind: gauge, help: "1 if the broker is in reach, or there is none.", value: linked},
		{name: "published_total", kind: counter, help: "Events, those of other nodes included.", value: float64(st.Published)},
		{name: "duplicates_total", kind: counter, help: "Events that were not published because their ID was known.", value: float64(st.Duplicates)},
		{name: "delivered_total", kind: counter, help: "Events given to connections, for each subscriber.", value: float64(st.Delivered)},
		{name: "queued_total", kind: counter, help: "Events delivered that had to wait for their subscriber.", value: float64(st.Queued)},
		{name: "dropped_total", kind: counter, help: "Events that a subscriber did not get.", value: float64(st.Dropped)},
		{name: "conflated_total", kind: counter, help: "Events that a newer one with the same key has replaced.", value: float64(st.Conflated)},
		{name: "gaps_total", kind: counter, help: "Gaps that were announced.", value: float64(st.Gaps)},
		{name: "heartbeats_total", kind: counter, help: "Signs of life that were sent.", value: float64(st.Heartbeats)},
		{name: "resumptions_total", kind: counter, help: "Subscribers that asked to resume.", value: float64(st.Resumed)},
		{name: "endings_total", kind: counter, help: "Subscribers that have left or were ended, by reason.", label: "reason", values: st.Endings},
		{name: "refusals_total", kind: counter, help: "Requests for a stream that were refused, by limit.", label: "limit", values: st.Refusals},
	}
}

// appendMetrics appends the figures in Prometheus' text format 0.0.4. All names, labels and texts are the
// hub's own, and need no escapes.
func (st *Stats) appendMetrics(b []byte) []byte {
	for _, m := range st.metrics() {
		name := "redline_push_" + m.name
		b = append(b, "# HELP "+name+" "+m.help+"\n# TYPE "+name+" "+m.kind+"\n"...)
		if m.label == "" {
			b = appendSample(append(b, name...), m.value)
			continue
		}
		for _, value := range slices.Sorted(maps.Keys(m.values)) {
			b = append(b, name+"{"+m.label+`="`+value+`"}`...)
			b = appendSample(b, float64(m.values[value]))
		}
	}
	return b
}

func appendSample(b []byte, value float64) []byte {
	return append(strconv.AppendFloat(append(b, ' '), value, 'f', -1, 64), '\n')
}
