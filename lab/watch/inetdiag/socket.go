package inetdiag

import "net/netip"

// State is a state of TCP, as the kernel numbers them (linux/tcp_states.h).
type State uint8

// The states. TimeWait and SynRecv have no descriptor in any process.
const (
	Established State = iota + 1
	SynSent
	SynRecv
	FinWait1
	FinWait2
	TimeWait
	Close
	CloseWait
	LastAck
	Listen
	Closing
	NewSynRecv
)

// States is a set of states.
type States uint32

// All is the set of all states.
const All = ^States(0)

// Only returns the set of one state. The kernel finds those that listen without a walk through
// all sockets.
func Only(one State) States { return 1 << one }

// Socket is a TCP socket.
type Socket struct {
	State     State
	Local     netip.AddrPort // an IPv4 address as such, also of a socket of IPv6
	Inode     uint32         // 0 if no process has it
	Cookie    uint64         // identifies the socket as long as the system runs
	ReadQueue uint32         // bytes; of a listener the connections that wait for accept
	Limit     uint32         // unsent bytes; of a listener the backlog
	Drops     uint32         // packets; of a listener mostly connections that found the queue full

	// Informed is set if the kernel supplied what follows.
	Informed     bool
	Retransmits  uint32 // segments sent again since the socket exists
	SegmentsSent uint32
	RTTMicros    uint32 // smoothed, microseconds
}
