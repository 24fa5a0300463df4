package bpf

import (
	"cmp"
	"net/netip"
	"time"
)

// Outside is the name of no system call, in [Counts.Calls]: threads that left the CPU without
// one, as for a page fault. Other is that of all calls that have no place of their own.
const (
	Outside = "none"
	Other   = "other"
)

// Counts are the counters of the watched processes, since the programs were loaded or, after
// [Counts.Sub], of a window. Those that say so are sampled while the processes are busy: they are
// counted in a part of the time, and scaled.
type Counts struct {
	At     time.Time       // of the reading
	Span   time.Duration   // of the window; since the programs were loaded
	Scaled Scaled          // what was sampled
	Calls  map[string]Call // by name; absent if there were none
	Waited Hist            // threads that could run, until they ran; sampled

	Voluntary, Involuntary uint64 // switches: the thread waited; it was preempted; sampled

	Epoll Epoll
	Uring Uring
	TCP   TCP
	Peers []Peer // in the order of their addresses; the caller owns the list

	Accepts  uint64             // by accept and accept4
	Answers  uint64             // sends that followed data from the client, on accepted connections
	Lookups  uint64             // datagrams to port 53 whose call names the address
	Queries  uint64             // messages to port 53 on connected sockets
	Failures map[Failure]uint64 // calls, by name and error, without EAGAIN and EINPROGRESS

	KernelCPU map[string]float64 // seconds, by [Part]; nil if stacks cannot be read
	UserCPU   float64            // seconds, by the same clock
	Lost      Lost
}

// Scaled describes the counters that are sampled.
type Scaled struct {
	Readings uint64  // with something new
	Seconds  float64 // that they stand for
	Observed float64 // seconds in which events were counted: as many, if none was left out
}

// Share returns the share of the time in which events were counted; 0 if nothing is known.
func (s Scaled) Share() float64 {
	if s.Seconds <= 0 {
		return 0
	}
	return min(1, s.Observed/s.Seconds)
}

// A Failure is a kind of failed system calls.
type Failure struct{ Call, Code string } // such as accept4, EMFILE

// A Call is what one kind of system call did.
type Call struct {
	Calls, Errors uint64  // that returned; that failed, without Again
	Again         uint64  // failed with EAGAIN, or EINPROGRESS as of connect
	Bytes         uint64  // that reads, writes, sends and receives moved
	Moved         uint64  // those that moved some
	Off           float64 // seconds in the call without a CPU; sampled
	Blocked       float64 // the part of Off until the thread could run again; sampled
	Timed         uint64  // calls whose CPU time was measured; sampled
	TimedCPU      float64 // seconds; sampled
	SampledCPU    float64 // seconds of CPU time by the clock, of all calls
}

// CPU returns the seconds of CPU time in the calls: as measured if at least a tenth was timed,
// which is scaled then, and else an estimate by the clock.
func (c Call) CPU() float64 {
	if c.Timed == 0 || c.Timed < c.Calls/10 {
		return c.SampledCPU
	}
	return c.TimedCPU * float64(c.Calls) / float64(c.Timed)
}

// Seconds returns the time in the calls, with and without a CPU, summed over threads.
func (c Call) Seconds() float64 { return c.Off + c.CPU() }

// Epoll is what waits on epoll returned, and what epoll_ctl did with success.
type Epoll struct {
	Events           uint64 // of all waits
	Empty            uint64 // waits that returned none
	Adds, Mods, Dels uint64
}

// Uring is what io_uring_enter submitted, and what was completed.
type Uring struct{ Submitted, Completed uint64 }

// TCP is what the TCP sockets of the processes did, through whatever interface. Sends and receives
// are sampled; segments sent again and resets are exact.
type TCP struct {
	Sends, SentBytes           uint64
	Receives, ReceivedBytes    uint64 // with data
	Retransmits                uint64 // segments
	ResetsSent, ResetsReceived uint64
	WindowClosed               uint64 // sends that were refused while the peer's window was closed
	Unread                     Hist   // data that had arrived, until it was read; of UDP too
}

// A Peer is a remote address of outgoing connections, or of connected UDP sockets. Sends,
// receives and waits are sampled.
type Peer struct {
	Addr     netip.AddrPort
	Protocol string // tcp or udp

	Connects, Established, Failed uint64
	Sends, SentBytes              uint64
	Receives, ReceivedBytes       uint64
	Retransmits, Resets           uint64 // resets received
	Connect                       Hist   // of those established
	Wait                          Hist   // from the last byte sent to the first byte that arrived next
}

// Lost is what could not be counted.
type Lost struct {
	Threads uint64 // events of threads or processes without a place in the kernel's memory
	Sockets uint64 // events of sockets
	Peers   uint64 // events of peers beyond 1,024
	Stacks  uint64 // samples of the CPU clock
}

// Total returns the number of all events that were lost.
func (l Lost) Total() uint64 { return l.Threads + l.Sockets + l.Peers + l.Stacks }

// Sub returns the counts of the window from an earlier reading to this one.
func (c Counts) Sub(earlier Counts) Counts {
	d := c
	d.Span = c.At.Sub(earlier.At)
	d.Scaled = Scaled{c.Scaled.Readings - earlier.Scaled.Readings, c.Scaled.Seconds - earlier.Scaled.Seconds, c.Scaled.Observed - earlier.Scaled.Observed}
	d.Calls = map[string]Call{}
	for name, now := range c.Calls {
		if one := now.sub(earlier.Calls[name]); one != (Call{}) {
			d.Calls[name] = one
		}
	}
	d.Waited = c.Waited.sub(&earlier.Waited)
	d.Voluntary -= earlier.Voluntary
	d.Involuntary -= earlier.Involuntary
	d.Epoll = Epoll{
		c.Epoll.Events - earlier.Epoll.Events, c.Epoll.Empty - earlier.Epoll.Empty,
		c.Epoll.Adds - earlier.Epoll.Adds, c.Epoll.Mods - earlier.Epoll.Mods, c.Epoll.Dels - earlier.Epoll.Dels,
	}
	d.Uring = Uring{c.Uring.Submitted - earlier.Uring.Submitted, c.Uring.Completed - earlier.Uring.Completed}
	d.TCP = c.TCP.sub(&earlier.TCP)
	d.Peers = subPeers(c.Peers, earlier.Peers)
	d.Accepts -= earlier.Accepts
	d.Answers -= earlier.Answers
	d.Lookups -= earlier.Lookups
	d.Queries -= earlier.Queries
	d.Failures = map[Failure]uint64{}
	for f, n := range c.Failures {
		if n -= earlier.Failures[f]; n > 0 {
			d.Failures[f] = n
		}
	}
	if c.KernelCPU != nil {
		d.KernelCPU = map[string]float64{}
		for part, s := range c.KernelCPU {
			if s -= earlier.KernelCPU[part]; s > 0 {
				d.KernelCPU[part] = s
			}
		}
	}
	d.UserCPU -= earlier.UserCPU
	d.Lost.Threads -= earlier.Lost.Threads
	d.Lost.Sockets -= earlier.Lost.Sockets
	d.Lost.Peers -= earlier.Lost.Peers
	d.Lost.Stacks -= earlier.Lost.Stacks
	return d
}

func (c Call) sub(e Call) Call {
	c.Calls -= e.Calls
	c.Errors -= e.Errors
	c.Again -= e.Again
	c.Bytes -= e.Bytes
	c.Moved -= e.Moved
	c.Off -= e.Off
	c.Blocked -= e.Blocked
	c.Timed -= e.Timed
	c.TimedCPU -= e.TimedCPU
	c.SampledCPU -= e.SampledCPU
	return c
}

func (t *TCP) sub(e *TCP) TCP {
	return TCP{
		Sends: t.Sends - e.Sends, SentBytes: t.SentBytes - e.SentBytes,
		Receives: t.Receives - e.Receives, ReceivedBytes: t.ReceivedBytes - e.ReceivedBytes,
		Retransmits: t.Retransmits - e.Retransmits, ResetsSent: t.ResetsSent - e.ResetsSent, ResetsReceived: t.ResetsReceived - e.ResetsReceived,
		WindowClosed: t.WindowClosed - e.WindowClosed, Unread: t.Unread.sub(&e.Unread),
	}
}

// order is that of the list of peers.
func order(a, b *Peer) int {
	return cmp.Or(a.Addr.Compare(b.Addr), cmp.Compare(a.Protocol, b.Protocol))
}

func subPeers(now, earlier []Peer) []Peer {
	var list []Peer
	for i := range now {
		p := now[i]
		if at, known := findPeer(earlier, &p); known {
			p = p.sub(&earlier[at])
		}
		if p != (Peer{Addr: p.Addr, Protocol: p.Protocol}) {
			list = append(list, p)
		}
	}
	return list
}

func (p *Peer) sub(e *Peer) Peer {
	return Peer{
		Addr: p.Addr, Protocol: p.Protocol,
		Connects: p.Connects - e.Connects, Established: p.Established - e.Established, Failed: p.Failed - e.Failed,
		Sends: p.Sends - e.Sends, SentBytes: p.SentBytes - e.SentBytes,
		Receives: p.Receives - e.Receives, ReceivedBytes: p.ReceivedBytes - e.ReceivedBytes,
		Retransmits: p.Retransmits - e.Retransmits, Resets: p.Resets - e.Resets,
		Connect: p.Connect.sub(&e.Connect), Wait: p.Wait.sub(&e.Wait),
	}
}

// Name returns the address, with the protocol if it is not TCP.
func (p *Peer) Name() string {
	if p.Protocol == "tcp" {
		return p.Addr.String()
	}
	return p.Protocol + "/" + p.Addr.String()
}
