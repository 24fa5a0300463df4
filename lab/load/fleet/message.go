package fleet

import (
	"encoding/json"
	"time"
)

// Message is a message between coordinator and worker, as JSON. From and one other field
// are set.
type Message struct {
	From string `json:"from,omitempty"` // id of the sending worker; empty: the coordinator

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

	Arrived time.Time `json:"-"` // set by the receiving carrier
}

// Times in messages are nanoseconds since 1970 on the clock of one process: the sender's
// unless stated otherwise.

// Join announces a worker.
type Join struct {
	Protocol int    `json:"protocol"`
	Index    int    `json:"index"` // of the requested share; negative: any
	Host     string `json:"host"`
	PID      int    `json:"pid"`
}

// protocol is the version of the messages. Coordinator and workers must be of the same
// build.
const protocol = 2

// Beat asks for the time of a worker's clock.
type Beat struct {
	Seq  uint64 `json:"seq"`
	Sent int64  `json:"sent"`
}

// Echo answers a Beat.
type Echo struct {
	Beat     Beat  `json:"beat"`
	Received int64 `json:"received"` // when the beat arrived
	Sent     int64 `json:"sent"`
}

// Order assigns a share of the load to a worker.
type Order struct {
	Share Share           `json:"share"`
	Spec  json.RawMessage `json:"spec"` // for the generator
}

// Ready reports that a worker's connections are established.
type Ready struct{}

// Start sets the time at which the load begins.
type Start struct {
	At int64 `json:"at"` // on the worker's clock
}

// Cut ends the load now. The worker then sends the result until then. A second Cut ends the wait
// for the answers that are outstanding.
type Cut struct{}

// Began reports that the load has begun.
type Began struct {
	At int64 `json:"at"`
}

// Report carries an event of a worker's generator.
type Report struct {
	At      int64           `json:"at"`                // when the generator emitted it
	Dropped uint64          `json:"dropped,omitempty"` // ticks dropped so far because the carrier was too slow
	Event   json.RawMessage `json:"event"`
}

// Stop ends a worker: with a reason if the run has failed, without one if it is complete.
type Stop struct {
	Why string `json:"why,omitempty"`
}

// Gone reports that a worker has ended early.
type Gone struct {
	Why string `json:"why"`
}

// Carrier connects the coordinator with its workers.
type Carrier interface {
	// Send sends a message to one worker. It may be called from one goroutine at a
	// time, and waits only a limited time for a worker that does not read.
	Send(worker string, m *Message) error
	// Inbox returns the messages of the workers. Those of one worker are in order.
	Inbox() <-chan *Message
}

// Wire connects a worker with its coordinator.
type Wire interface {
	// Send sends a message to the coordinator. It may be called concurrently.
	Send(m *Message) error
	// Inbox returns the messages of the coordinator. It is closed after the last one.
	Inbox() <-chan *Message
}

// event contains the fields of a generator's event that the coordinator reads; see load.Event.
type event struct {
	Window bool            `json:"window"`
	Tick   *tick           `json:"tick"`
	Result json.RawMessage `json:"result"`
}

// tick contains the fields of a generator's tick that are merged.
type tick struct {
	T         float64     `json:"t"`       // seconds since the window began, at the tick's end
	Seconds   float64     `json:"seconds"` //
	Requests  uint64      `json:"requests"`
	Errors    uint64      `json:"errors"`
	P50       float64     `json:"p50_us"`
	P95       float64     `json:"p95_us"`
	P99       float64     `json:"p99_us"`
	Heat      [][2]uint64 `json:"heat"`            // see results.HeatBucket
	Counts    string      `json:"counts"`          // the latencies of this tick, see tally.Delta; may be empty
	SendLag   float64     `json:"send_lag_p99_us"` //
	Users     uint64      `json:"users"`           // of a ramp
	InFlight  float64     `json:"in_flight"`       // requests, on average
	Waiting   uint64      `json:"waiting"`         // arrivals
	ServerCPU float64     `json:"server_cpu"`      // CPU seconds per second
	Held      float64     `json:"held"`            // share of the tick

	TargetHeat [][][2]uint64 `json:"target_heat"` // Heat of each target

	Kinds    map[string]uint64 `json:"kinds"` // errors
	BytesIn  uint64            `json:"bytes_in"`
	BytesOut uint64            `json:"bytes_out"`
}
