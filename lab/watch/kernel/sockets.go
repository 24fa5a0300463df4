package kernel

import (
	"net/netip"
	"strconv"
	"time"

	"github.com/redline-go/redline/lab/internal/procfs"
	"github.com/redline-go/redline/lab/stats"
	"github.com/redline-go/redline/lab/watch"
	"github.com/redline-go/redline/lab/watch/inetdiag"
)

// stateFigures are the figures of the states of TCP that a process's sockets have.
var stateFigures = map[inetdiag.State]string{
	inetdiag.Established: "tcp_established", inetdiag.SynSent: "tcp_syn_sent", inetdiag.FinWait1: "tcp_fin_wait1",
	inetdiag.FinWait2: "tcp_fin_wait2", inetdiag.CloseWait: "tcp_close_wait", inetdiag.LastAck: "tcp_last_ack",
	inetdiag.Listen: "tcp_listen", inetdiag.Closing: "tcp_closing",
}

// onlyDiag are the figures that /proc/PID/net/tcp does not have.
var onlyDiag = []string{"accept_drops", "accept_queue_limit", "tcp_retransmits", "tcp_rtt", "tcp_segments_sent"}

// allTCP lists all figures of the sockets.
func allTCP() []string {
	list := append([]string{"tcp_time_wait", "tcp_syn_recv", "accept_queue"}, onlyDiag...)
	for _, f := range stateFigures {
		list = append(list, f)
	}
	return list
}

// sockets reads the TCP sockets of the target: over netlink, or if that is impossible from the
// tables in /proc.
type sockets struct {
	t    *Target
	conn *inetdiag.Conn // nil: not open
	deny string         // why netlink cannot be used
	all  time.Time      // when all were read; those that listen are read more often
}

// socketsEvery is the time between two readings of all sockets: for each the kernel walks a table
// of hundreds of thousands of entries, and those in TIME_WAIT can be tens of thousands.
const socketsEvery = time.Second

func (s *sockets) close() error {
	if s.conn == nil {
		return nil
	}
	return s.conn.Close()
}

func (s *sockets) read(r *watch.Reading) error {
	if s.t.inodes == nil {
		r.Miss(s.t.fs.Path("proc", strconv.Itoa(s.t.pid), "fd"), "the sockets of the process are unknown without its descriptors", allTCP()...)
		return nil
	}
	if s.conn == nil && s.deny == "" {
		s.open()
	}
	c := newCensus(s.t.inodes, r)
	states := inetdiag.Only(inetdiag.Listen)
	if s.all.IsZero() || r.At.Sub(s.all) >= socketsEvery {
		states, s.all = inetdiag.All, r.At
	}
	c.all = states == inetdiag.All
	if !c.all && s.conn == nil {
		return nil // the tables in /proc have all
	}
	if s.conn != nil {
		if err := s.conn.Each(states, c.add); err != nil {
			r.Miss("netlink sock_diag", reason(err), allTCP()...)
			return nil
		}
		c.conclude(true)
		return nil
	}
	r.Miss("netlink sock_diag", s.deny+"; the other figures of TCP are from /proc/PID/net/tcp", onlyDiag...)
	table, err := s.t.fs.TCPSockets(strconv.Itoa(s.t.pid))
	if procfs.Gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, one := range table {
		inode, err := strconv.ParseUint(one.Inode, 10, 32)
		if err == nil {
			c.add(inetdiag.Socket{State: inetdiag.State(one.State), Local: netip.AddrPortFrom(netip.Addr{}, one.Port), Inode: uint32(inode), ReadQueue: one.ReadQueue})
		}
	}
	c.conclude(false)
	return nil
}

func (s *sockets) open() {
	if s.t.fs != procfs.Host {
		s.deny = "it describes this machine, not the files of another one"
		return
	}
	conn, err := inetdiag.Open(s.t.pid)
	if err != nil {
		s.deny = reason(err)
		return
	}
	s.conn = conn
}

// census adds the sockets up.
type census struct {
	r        *watch.Reading
	inodes   map[uint32]bool
	states   map[inetdiag.State]int
	listens  map[netip.AddrPort]bool // addresses that the process listens on
	timeWait map[netip.AddrPort]int  // by local address
	synRecv  map[netip.AddrPort]int
	all      bool // not only those that listen
	rtts     []float64
	fullest  *inetdiag.Socket
}

func newCensus(inodes map[uint32]bool, r *watch.Reading) *census {
	return &census{
		r: r, inodes: inodes, states: map[inetdiag.State]int{}, listens: map[netip.AddrPort]bool{},
		timeWait: map[netip.AddrPort]int{}, synRecv: map[netip.AddrPort]int{},
	}
}

func (c *census) add(s inetdiag.Socket) {
	switch {
	case s.State == inetdiag.TimeWait:
		c.timeWait[s.Local]++
		return
	case s.State == inetdiag.SynRecv || s.State == inetdiag.NewSynRecv:
		c.synRecv[s.Local]++
		return
	case !c.inodes[s.Inode]:
		return
	}
	c.states[s.State]++
	if s.State == inetdiag.Listen {
		c.listens[s.Local] = true
		if c.fullest == nil || s.ReadQueue > c.fullest.ReadQueue || s.ReadQueue == c.fullest.ReadQueue && s.Limit < c.fullest.Limit {
			c.fullest = &s
		}
		if s.Cookie != 0 {
			c.r.Count("accept_drops", s.Cookie, float64(s.Drops))
		}
		return
	}
	if !s.Informed {
		return
	}
	c.r.Count("tcp_retransmits", s.Cookie, float64(s.Retransmits))
	c.r.Count("tcp_segments_sent", s.Cookie, float64(s.SegmentsSent))
	if s.State == inetdiag.Established && s.RTTMicros > 0 {
		c.rtts = append(c.rtts, float64(s.RTTMicros)/1e6)
	}
}

// conclude sets the figures; limited if the limits of queues are known.
func (c *census) conclude(limited bool) {
	if c.all {
		c.concludeAll(limited)
	}
	c.r.Set("tcp_listen", float64(c.states[inetdiag.Listen]))
	if c.fullest == nil {
		return
	}
	c.r.Set("accept_queue", float64(c.fullest.ReadQueue))
	if limited {
		c.r.Set("accept_queue_limit", float64(c.fullest.Limit))
	}
}

// concludeAll sets the figures of all sockets.
func (c *census) concludeAll(limited bool) {
	for state, figure := range stateFigures {
		c.r.Set(figure, float64(c.states[state]))
	}
	if limited {
		c.r.Counter("tcp_retransmits")
		c.r.Counter("tcp_segments_sent")
	}
	c.r.Set("tcp_time_wait", float64(c.towards(c.timeWait)))
	c.r.Set("tcp_syn_recv", float64(c.towards(c.synRecv)))
	if len(c.rtts) > 0 {
		c.r.Set("tcp_rtt", stats.Median(c.rtts))
	}
}

// towards adds up the connections to the addresses that the process listens on.
func (c *census) towards(list map[netip.AddrPort]int) (n int) {
	everywhere := map[uint16]bool{}
	for at := range c.listens {
		// The tables of /proc are read without addresses.
		if !at.Addr().IsValid() || at.Addr().IsUnspecified() {
			everywhere[at.Port()] = true
		}
	}
	for at, k := range list {
		if c.listens[at] || everywhere[at.Port()] {
			n += k
		}
	}
	return n
}
