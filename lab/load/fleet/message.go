package fleet

import (
	"encoding/json"
	"time"
)

// Message is what coordinator and workers tell each other, as JSON. From and one
// other field are set.
type Message struct {
	From string `json:"from,omitempty"` // id of the worker that sent it; empty: the coordinator

	Beat  *Beat  `json:"beat,omitempty"`  // to a worker
	Order *Order `json:"order,omitempty"` // to a worker
	Start *Start `json:"start,omitempty"` // to a worker
	Cut   *Cut   `json:"cut,omitempty"`   // to a worker
	Stop  *Stop  `json:"stop,omitempty"`  // to a worker; its last message

	Join   *Join   `json:"join,omitempty"`   // from a worker
	Echo   *Echo   `json:"echo,omitempty"`   // from a worker
	Ready  *Ready  `json:"ready,omitempty"`  // from a worker
	Began  *Began  `json:"began,omitempty"`  // from a worker
	Report *Report `json:"report,omitempty"` // from a worker
	Gone   *Gone   `json:"gone,omitempty"`   // from a worker or its carrier; its last message

	Arrived time.Time `json:"-"` // set by the carrier that received it
}

// Times in messages are nanoseconds since 1970 on the clock of one process: the
// sender's, if nothing else is said.

// Join says that a worker is there.
type Join struct {
	Protocol int    `json:"protocol"`
	Index    int    `json:"index"` // of the share it wants to have; negative: any
	Host     string `json:"host"`
	PID      int    `json:"pid"`
}

// protocol is the version of the messages. Coordinator and workers are meant to
// be of one build.
const protocol = 2

// Beat asks for the time of a worker's clock.
type Beat struct {
	Seq  uint64 `json:"seq"`
	Sent int64  `json:"sent"`
}

// Echo answers a Beat.
type Echo struct {
	Beat     Beat  `json:"beat"`
	Received int64 `json:"received"` // when the beat came
	Sent     int64 `json:"sent"`
}

// Order is what a worker is asked to do.
type Order struct {
	Share Share           `json:"share"`
	Spec  json.RawMessage `json:"spec"` // for the generator
}

// Ready says that a worker's connections stand.
type Ready struct{}

// Start says when the load begins.
type Start struct {
	At int64 `json:"at"` // on the worker's clock
}

// Cut ends the load now; the result of what was measured until then is still
// wanted.
type Cut struct{}

// Began says that it has.
type Began struct {
	At int64 `json:"at"`
}

// Report passes an event of a worker's generator on.
type Report struct {
	At      int64           `json:"at"`                // when the generator emitted it
	Dropped uint64          `json:"dropped,omitempty"` // ticks so far that the carrier was too slow for
	Event   json.RawMessage `json:"event"`
}

// Stop ends a worker: because all is done, or with the reason why not.
type Stop struct {
	Why string `json:"why,omitempty"`
}

// Gone says that a worker does not go on.
type Gone struct {
	Why string `json:"why"`
}

// A Carrier connects the coordinator with its workers.
type Carrier interface {
	// Send sends a message to one worker. It may be called from one goroutine at a
	// time, and does not wait for a worker that does not read.
	Send(worker string, m *Message) error
	// Inbox is what the workers send. Messages of one worker keep their order.
	Inbox() <-chan *Message
}

// A Wire connects a worker with its coordinator.
type Wire interface {
	// Send sends a message to the coordinator. It may be called concurrently.
	Send(m *Message) error
	// Inbox is what the coordinator sends. It is closed when there will be nothing
	// more.
	Inbox() <-chan *Message
}

// event is what of a generator's event has to be known here; see load.Event.
type event struct {
	Window bool            `json:"window"`
	Tick   *tick           `json:"tick"`
	Result json.RawMessage `json:"result"`
}

// tick is what of a generator's tick has to be merged.
type tick struct {
	T         float64     `json:"t"`       // seconds since the window began, at the tick's end
	Seconds   float64     `json:"seconds"` //
	Requests  uint64      `json:"requests"`
	Errors    uint64      `json:"errors"`
	Heat      [][2]uint64 `json:"heat"`            // see results.HeatBucket
	Counts    string      `json:"counts"`          // the latencies of this tick alone, see tally.Delta; may be empty
	SendLag   float64     `json:"send_lag_p99_us"` //
	InFlight  float64     `json:"in_flight"`       // requests, on average
	Waiting   uint64      `json:"waiting"`         // arrivals
	ServerCPU float64     `json:"server_cpu"`      // CPU seconds a second
}
