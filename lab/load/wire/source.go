package wire

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// portsPerSource is the number of connections that share a source address if the server is
// on the loopback interface; the default port range has 28,000 ports.
const portsPerSource = 10_000

// Loopback returns the source addresses that the given number of connections to addr need,
// because each of them needs a port. It returns none (the kernel chooses) unless addr is
// an IPv4 loopback address and there are more than 10,000 connections. The addresses can be
// divided evenly over that many processes, each of which uses every processes-th one.
func Loopback(addr netip.Addr, connections, processes int) (sources []netip.Addr) {
	if addr = addr.Unmap(); !addr.Is4() || !addr.IsLoopback() || connections <= portsPerSource {
		return nil
	}
	each := (connections + processes - 1) / processes
	a := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	for range processes * ((each + portsPerSource - 1) / portsPerSource) {
		sources = append(sources, a)
		a = a.Next()
	}
	return sources
}

// maxSources limits the source addresses of one generator.
const maxSources = 1 << 16

// ParseSources parses source addresses: each item is an address, a range with a hyphen
// (127.0.0.2-127.0.0.9), or a prefix (127.0.1.0/24), which means all of its addresses.
// There may be at most 65,536 in total, all of one family.
func ParseSources(list []string) ([]netip.Addr, error) {
	var all []netip.Addr
	for _, text := range list {
		first, last, err := parseSource(text)
		if err != nil {
			return nil, fmt.Errorf("source address %q: %w; write 127.0.0.2, 127.0.0.2-127.0.0.9 or 127.0.1.0/24", text, err)
		}
		for a := first; ; a = a.Next() {
			if len(all) == maxSources {
				return nil, fmt.Errorf("source address %q: more than %d addresses", text, maxSources)
			}
			if all = append(all, a); a == last {
				break
			}
		}
		if first.Is4() != all[0].Is4() {
			return nil, fmt.Errorf("source address %q: IPv4 and IPv6 addresses cannot be mixed", text)
		}
	}
	return all, nil
}

func parseSource(text string) (first, last netip.Addr, err error) {
	if strings.Contains(text, "/") {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return first, last, err
		}
		first = prefix.Masked().Addr()
		return first, lastOf(prefix), nil
	}
	from, to, isRange := strings.Cut(text, "-")
	if first, err = netip.ParseAddr(strings.TrimSpace(from)); err != nil {
		return first, last, err
	}
	first = first.Unmap().WithZone("")
	if !isRange {
		return first, first, nil
	}
	if last, err = netip.ParseAddr(strings.TrimSpace(to)); err != nil {
		return first, last, err
	}
	last = last.Unmap().WithZone("")
	if last.Less(first) || first.Is4() != last.Is4() {
		return first, last, fmt.Errorf("the range ends before it begins")
	}
	return first, last, nil
}

// lastOf returns the address of a prefix with all host bits set.
func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for bit := p.Bits(); bit < 8*len(b); bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	a, _ := netip.AddrFromSlice(b) // 4 or 16 bytes, like the input
	return a
}

// maxPath is how long the path of a Unix socket may be: a byte of sun_path is for its end.
const maxPath = 107

// CheckPath returns an error for what is neither the path of a Unix socket nor @ and the name
// of an abstract one.
func CheckPath(path string) error {
	switch {
	case path == "" || path == "@":
		return errors.New("name a Unix socket, as /run/app.sock, or @app for an abstract one")
	case len(path) > maxPath:
		return fmt.Errorf("the path of a Unix socket has %d bytes, and %d are possible: make a link to its directory", len(path), maxPath)
	case strings.ContainsRune(path, 0):
		return errors.New("the path of a Unix socket has a zero byte")
	}
	return nil
}
