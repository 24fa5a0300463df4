package spawn

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
)

const (
	firstPort = 10_000
	lastPort  = 32_767
)

// FreeAddress returns an address that nothing listens on, for a process that will later. Its
// port is below those that systems as a rule give out for port 0 and for outgoing connections (from 32768
// on Linux, from 49152 elsewhere): one of them could be taken again before the process has it.
func FreeAddress() (addr netip.AddrPort, err error) {
	for range 100 {
		addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(firstPort+rand.IntN(lastPort-firstPort+1)))
		var l net.Listener
		if l, err = net.Listen("tcp", addr.String()); err == nil {
			return addr, l.Close()
		}
	}
	return netip.AddrPort{}, fmt.Errorf("find a free port: %w", err)
}
