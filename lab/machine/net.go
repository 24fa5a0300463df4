package machine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/internal/procfs"
)

func sysctl(name string) []string {
	return append([]string{"proc", "sys"}, strings.Split(name, ".")...)
}

func congestion(fs procfs.FS) []Finding {
	const better = "cubic"
	name := sysctl("net.ipv4.tcp_congestion_control")
	now := text(fs, name...)
	if !strings.HasPrefix(now, "bbr") {
		return nil
	}
	f := Finding{
		Name: "congestion control", Value: now,
		Why:    "bbr paces by measured bandwidth, which throttles large responses over loopback; redline bench sets the algorithm of its own sockets, other tools do not",
		Advice: "use cubic while measuring over loopback",
	}
	if slices.Contains(strings.Fields(text(fs, sysctl("net.ipv4.tcp_available_congestion_control")...)), better) {
		f.Changes = change(fs, better, name...)
	} else {
		f.Advice += "; modprobe tcp_cubic first"
	}
	return []Finding{f}
}

func ports(fs procfs.FS) []Finding {
	const (
		enough = 50_000
		few    = 20_000
		wide   = "10000 65535"
	)
	r, ok := portRange(fs)
	n := r[1] - r[0] + 1
	if !ok || n >= enough {
		return nil
	}
	return []Finding{{
		Name: "local ports", Value: fmt.Sprintf("%d to %d, %d ports", r[0], r[1], n), Disturbs: n < few,
		Why:     "each connection to an address uses a port, and keeps it for a minute after it was closed: a load with new connections runs out of ports",
		Advice:  "use a wider range",
		Changes: change(fs, wide, sysctl("net.ipv4.ip_local_port_range")...),
	}}
}

func backlogs(fs procfs.FS) []Finding {
	var found []Finding
	for _, x := range []struct{ title, name, why string }{
		{"accept backlog", "net.core.somaxconn", "it limits a listener's queue: further connections that arrive at the same time are dropped and retried a second later"},
		{"SYN backlog", "net.ipv4.tcp_max_syn_backlog", "further handshakes are dropped or answered with SYN cookies, which lose options such as window scaling"},
	} {
		const enough, few = 4096, 256
		now, ok := number(fs, sysctl(x.name)...)
		if !ok || now >= enough {
			continue
		}
		found = append(found, Finding{
			Name: x.title, Value: fmt.Sprint(now), Disturbs: now < few, Why: x.why,
			Advice:  "use a longer queue",
			Changes: change(fs, "65535", sysctl(x.name)...),
		})
	}
	return found
}

func timeWait(fs procfs.FS) []Finding {
	name := sysctl("net.ipv4.tcp_tw_reuse")
	if text(fs, name...) != "0" {
		return nil
	}
	return []Finding{{
		Name: "ports in TIME_WAIT", Value: "not reused",
		Why:     "ports of closed connections stay in use for a minute, on loopback too: a load with new connections runs out of them",
		Advice:  "reuse them on loopback",
		Changes: change(fs, "2", name...),
	}}
}

// files checks the limit that children inherit. A Go program raises its own limit at start
// but gives its children the original one, which its parent still has.
func (h *Host) files(fs procfs.FS) []Finding {
	const enough, few = 65_536, 1024
	self, err := fs.Stat(h.pid())
	if err != nil {
		return nil
	}
	soft, hard := fileLimits(fs, fmt.Sprint(self.Parent))
	if soft >= hard || soft >= enough {
		return nil
	}
	return []Finding{{
		Name: "open files", Value: fmt.Sprintf("%d, can be raised to %s", soft, limit(hard)), Disturbs: soft < few,
		Why:    "each connection is a file; a server stops accepting at the limit unless it raises it, as Go programs do",
		Advice: "ulimit -n " + limit(hard) + " in the shell that starts the measurement",
	}}
}

func limit(n uint64) string {
	if n == 1<<64-1 {
		return "unlimited"
	}
	return fmt.Sprint(n)
}
