package kernel

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/watch"
)

// Connections are counted by state; round-trip time and segments are those of getsockopt.
func TestConnections(t *testing.T) {
	o := observe(t, procfs.Host, os.Getpid(), false)
	before := o.last.Values
	ln := listen(t)
	const n = 20
	var ends []net.Conn
	var segments uint32
	for range n {
		client, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		server, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, client, server)
	}
	for _, c := range ends[2:] {
		raw, err := c.(*net.TCPConn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if err := raw.Control(func(fd uintptr) {
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			if err != nil {
				t.Error(err)
				return
			}
			segments += info.Segs_out
		}); err != nil {
			t.Fatal(err)
		}
	}
	// The client of the first pair closes: CLOSE_WAIT for its server, FIN_WAIT2 for nobody.
	if err := ends[0].Close(); err != nil {
		t.Fatal(err)
	}
	after := o.wait(func(v map[string]float64) bool { return v["tcp_close_wait"] > before["tcp_close_wait"] })
	for figure, want := range map[string]float64{"tcp_established": 2*n - 2, "tcp_close_wait": 1, "tcp_listen": 1} {
		if got := after[figure] - before[figure]; got != want {
			t.Errorf("%s: %v more, want %v", figure, got, want)
		}
	}
	if rtt := after["tcp_rtt"]; rtt <= 0 || rtt > 1 {
		t.Errorf("round-trip time %v s", rtt)
	}
	// The server of the pair that was closed has sent one or two more.
	if got := o.last.Totals["tcp_segments_sent"]; got < float64(segments) || got > float64(segments)+4 {
		t.Errorf("%v segments sent, %v by getsockopt", got, segments)
	}
	if _, err := exec.LookPath("ss"); err == nil {
		out, err := exec.Command("ss", "-tnH", "state", "established", "src", ln.Addr().String()).Output()
		if got := strings.Count(string(out), "\n"); err != nil || got != n-1 {
			t.Errorf("ss: %d, %v", got, err)
		}
	}
	for _, c := range ends[1:] {
		_ = c.Close()
	}
}

// A listener whose backlog is full has its queue, its limit and its drops.
func TestBacklog(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	const backlog = 2
	if err := unix.Listen(fd, backlog); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	o := observe(t, procfs.Host, os.Getpid(), false)
	var clients []int
	for range backlog + 4 { // without waiting: those beyond the queue do not connect
		c, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
		if err := unix.Connect(c, name); err != nil && err != unix.EINPROGRESS {
			t.Fatal(err)
		}
	}
	after := o.wait(func(v map[string]float64) bool {
		return v["accept_queue"] > backlog && o.last.Totals["accept_drops"] > 0
	})
	if after["accept_queue"] != backlog+1 || after["accept_queue_limit"] != backlog {
		t.Errorf("queue %v of %v", after["accept_queue"], after["accept_queue_limit"])
	}
	if drops, all := o.last.Totals["accept_drops"], o.last.Totals["net_listen_drops"]; drops < 1 || all < drops {
		t.Errorf("%v dropped, %v in the namespace", drops, all)
	}
	if n := o.last.Totals["net_listen_overflows"]; n < 1 {
		t.Errorf("%v overflows", n)
	}
	for _, c := range clients {
		_ = unix.Close(c)
	}
}

// TIME_WAIT is counted for the ports that the process listens on.
func TestTimeWait(t *testing.T) {
	ln, err := net.Listen("tcp", "127.83.7.9:0") // an address that no other test uses
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	for range 3 {
		client, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		server, err := ln.Accept()
		if err != nil {
			t.Fatal(err)
		}
		// The server closes first, so TIME_WAIT is on its port.
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(make([]byte, 1)); err == nil {
			t.Fatal("the server sent something")
		}
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
	}
	got := observe(t, procfs.Host, os.Getpid(), false).wait(func(v map[string]float64) bool { return v["tcp_time_wait"] == 3 })["tcp_time_wait"]
	if got != 3 {
		t.Errorf("%v in TIME_WAIT", got)
	}
}

// Without netlink, states and queues are from the tables of /proc, and the rest is missing.
func TestTables(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	fs := files(t, map[string]string{
		"proc/5/stat": stat, "proc/5/fd/3": "-> socket:[100]", "proc/5/fd/4": "-> socket:[101]", "proc/5/fd/5": "-> /dev/null",
		"proc/5/net/tcp": head +
			"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000007 00:00000000 00000000     0        0 100 1 0 100 0 0 10 0\n" +
			"   1: 0100007F:1F90 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 101 1 0 20 4 30 10 -1\n" +
			"   2: 0100007F:1F90 0100007F:9C41 06 00000000:00000000 03:00001765 00000000     0        0 0 3 0\n" +
			"   3: 0100007F:2222 0100007F:9C42 06 00000000:00000000 03:00001765 00000000     0        0 0 3 0\n" +
			"   4: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 999 1 0\n",
	})
	target, err := Open(fs, 5, false)
	if err != nil {
		t.Fatal(err)
	}
	r := watch.NewReading(target.looked)
	if err := target.descriptors(r); err != nil {
		t.Fatal(err)
	}
	if err := (&sockets{t: target}).read(r); err != nil {
		t.Fatal(err)
	}
	for figure, want := range map[string]float64{"tcp_listen": 1, "tcp_established": 1, "tcp_time_wait": 1, "accept_queue": 7, "descriptors_file": 1, "descriptors_socket": 2} {
		if got, ok := r.Value(figure); !ok || got != want {
			t.Errorf("%s: %v, want %v", figure, got, want)
		}
	}
	if list := r.Misses(); len(list) != 1 || !slices.Equal(list[0].Figures, onlyDiag) || !strings.Contains(list[0].Reason, "/proc/PID/net/tcp") {
		t.Errorf("%+v", list)
	}
}
