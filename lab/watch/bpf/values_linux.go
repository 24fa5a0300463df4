package bpf

import (
	"encoding/binary"
	"net/netip"
)

// The structures of the programs' maps, as in program/src.

type callValue struct {
	Calls, Errors, Again    uint64
	Moved, Bytes            uint64
	Timed, TimedNS          uint64
	OffNS, BlockedNS, Ticks uint64
}

type totalsValue struct {
	Calls                                          [mostSlots]callValue
	Waited, Delayed                                [112]uint64
	WaitedNS, Voluntary, Involuntary               uint64
	DelayedNS                                      uint64
	Events, Empty, Adds, Mods, Dels                uint64
	Submitted, Completed                           uint64
	Sends, SentBytes, Receives, ReceivedBytes      uint64
	Retransmits, ResetsSent, ResetsReceived, Shut  uint64
	Accepts, Lookups, Queries, Answers             uint64
	UserSamples                                    uint64
	LostThreads, LostSockets, LostPeers, LostStack uint64
}

type peerKey struct {
	Addr        [16]byte
	Port, Proto uint16
}

type peerValue struct {
	Connects, Established, Failed, ConnectNS  uint64
	Sends, SentBytes, Receives, ReceivedBytes uint64
	Waits, WaitNS, Retransmits, Resets        uint64
	Wait, Connect                             [112]uint32
}

// stackDepth is the number of frames of a stack.
const stackDepth = 64

// frames reads a record of the ring; nil if it is not one.
func frames(raw []byte) []uint64 {
	if len(raw) < 8 {
		return nil
	}
	n := min(binary.NativeEndian.Uint64(raw), uint64(len(raw)-8), 8*stackDepth) / 8
	addrs := make([]uint64, n)
	for i := range addrs {
		addrs[i] = binary.NativeEndian.Uint64(raw[8+8*i:])
	}
	return addrs
}

// add adds the counters of a CPU.
func (t *totalsValue) add(c *Counts, names *[mostSlots]string) {
	for i := range t.Calls {
		v := &t.Calls[i]
		if v.Calls == 0 && v.OffNS == 0 && v.BlockedNS == 0 && v.Ticks == 0 {
			continue
		}
		one := c.Calls[names[i]]
		one.Calls += v.Calls
		one.Errors += v.Errors
		one.Again += v.Again
		one.Bytes += v.Bytes
		one.Moved += v.Moved
		one.Timed += v.Timed
		one.TimedCPU += float64(v.TimedNS) / 1e9
		one.SampledCPU += float64(v.Ticks) / clockHz
		one.Off += float64(v.OffNS) / 1e9
		one.Blocked += float64(v.BlockedNS) / 1e9
		c.Calls[names[i]] = one
	}
	for i := range t.Waited {
		c.Waited.Buckets[i] += t.Waited[i]
		c.TCP.Unread.Buckets[i] += t.Delayed[i]
	}
	c.Waited.Seconds += float64(t.WaitedNS) / 1e9
	c.TCP.Unread.Seconds += float64(t.DelayedNS) / 1e9
	c.Voluntary += t.Voluntary
	c.Involuntary += t.Involuntary
	c.Epoll.Events += t.Events
	c.Epoll.Empty += t.Empty
	c.Epoll.Adds += t.Adds
	c.Epoll.Mods += t.Mods
	c.Epoll.Dels += t.Dels
	c.Uring.Submitted += t.Submitted
	c.Uring.Completed += t.Completed
	c.TCP.Sends += t.Sends
	c.TCP.SentBytes += t.SentBytes
	c.TCP.Receives += t.Receives
	c.TCP.ReceivedBytes += t.ReceivedBytes
	c.TCP.Retransmits += t.Retransmits
	c.TCP.ResetsSent += t.ResetsSent
	c.TCP.ResetsReceived += t.ResetsReceived
	c.TCP.WindowClosed += t.Shut
	c.Accepts += t.Accepts
	c.Lookups += t.Lookups
	c.Queries += t.Queries
	c.Answers += t.Answers
	c.UserCPU += float64(t.UserSamples) / clockHz
	c.Lost.Threads += t.LostThreads
	c.Lost.Sockets += t.LostSockets
	c.Lost.Peers += t.LostPeers
	c.Lost.Stacks += t.LostStack
}

func hist(buckets *[112]uint32, ns uint64) Hist {
	h := Hist{Seconds: float64(ns) / 1e9}
	for i, n := range buckets {
		h.Buckets[i] = uint64(n)
	}
	return h
}

// peer converts an entry of the map.
func (v *peerValue) peer(k peerKey) Peer {
	protocol := "udp"
	if k.Proto == 6 {
		protocol = "tcp"
	}
	return Peer{
		Addr: netip.AddrPortFrom(netip.AddrFrom16(k.Addr).Unmap(), k.Port), Protocol: protocol,
		Connects: v.Connects, Established: v.Established, Failed: v.Failed,
		Sends: v.Sends, SentBytes: v.SentBytes, Receives: v.Receives, ReceivedBytes: v.ReceivedBytes,
		Retransmits: v.Retransmits, Resets: v.Resets, Connect: hist(&v.Connect, v.ConnectNS), Wait: hist(&v.Wait, v.WaitNS),
	}
}
