package output

import (
	"fmt"
	"io"
	"strings"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/watch"
)

// sparkCells is the number of values that the live view draws.
const sparkCells = 60

// rows are the lines of the live view: a title, and figures with their labels.
var rows = []struct {
	title   string
	figures [][2]string
}{
	{"CPU", [][2]string{{"cpu_total", "cores"}, {"cpu_user", "user"}, {"cpu_sys", "sys"}}},
	{"memory", [][2]string{{"rss_bytes", "RSS"}, {"pss_bytes", "PSS"}, {"vss_bytes", "VSS"}, {"faults_minor", "minor faults"}, {"faults_major", "major"}}},
	{"threads", [][2]string{{"threads", ""}, {"switches_voluntary", "waits"}, {"switches_involuntary", "preempted"}, {"syscalls_read", "reads"}, {"syscalls_write", "writes"}}},
	{"waits", [][2]string{
		{"requests", "requests"},
		{"syscalls_all", "system calls"},
		{"sched_wait", "for a CPU"},
		{"sched_wait_p99", "p99"},
		{"tcp_unread_p99", "data unread p99"},
		{"connects", "connects"},
		{"dns_queries", "DNS"},
	}},
	{"files", [][2]string{
		{"descriptors", ""},
		{"descriptors_socket", "sockets"},
		{"descriptors_file", "files"},
		{"descriptors_pipe", "pipes"},
		{"descriptors_epoll", "epoll"},
		{"descriptors_io_uring", "io_uring"},
	}},
	{"TCP", [][2]string{
		{"tcp_established", "established"},
		{"tcp_close_wait", "close-wait"},
		{"tcp_time_wait", "time-wait"},
		{"tcp_rtt", "RTT"},
		{"tcp_retransmits", "retransmits"},
		{"accept_queue", "accept queue"},
		{"accept_queue_limit", "of"},
		{"accept_drops", "dropped"},
	}},
	{"cgroup", [][2]string{
		{"cgroup_cpu", "cores"},
		{"cgroup_cpu_quota", "quota"},
		{"cgroup_throttled", "throttled"},
		{"cgroup_memory_bytes", "memory"},
		{"cgroup_memory_limit_bytes", "of"},
	}},
	{"pressure", [][2]string{{"pressure_cpu_some", "CPU"}, {"pressure_memory_some", "memory"}, {"pressure_io_some", "I/O"}}},
	{"Go", [][2]string{{"goroutines", "goroutines"}, {"heap_bytes", "heap"}, {"allocated", "allocated"}, {"gc_cycles", "collections"}, {"gc_cpu", "their CPU"}}},
}

// Live shows a watch on a terminal: a panel, and above it a line for each mark and for what
// could not be read. Write errors are ignored: this output is not a result.
type Live struct {
	w     io.Writer
	panel screen.Panel
	title string
	units map[string]watch.Unit
	last  map[string]float64 // newest value of each figure
	cpu   []float64
}

// NewLive returns a Live that writes to w, a terminal with the given properties.
func NewLive(w io.Writer, on screen.Screen, title string, extra []watch.Figure) *Live {
	l := &Live{w: w, panel: screen.Panel{Screen: on}, title: title, units: map[string]watch.Unit{}, last: map[string]float64{}}
	for _, f := range append(watch.Figures(), extra...) {
		l.units[f.Name] = f.Unit
	}
	return l
}

// Event shows an event.
func (l *Live) Event(e watch.Event) error {
	s := l.panel.Screen
	switch {
	case e.Sample != nil:
		for f, v := range e.Sample.Values {
			l.last[f] = v
		}
		if v, ok := e.Sample.Values["cpu_total"]; ok {
			if l.cpu = append(l.cpu, v); len(l.cpu) > sparkCells {
				l.cpu = l.cpu[1:]
			}
		}
		if s.Rewrites {
			l.write(l.panel.Draw(l.lines(e.Sample.T)))
		}
	case e.Missing != nil:
		l.write(l.panel.Clear() + s.Paint(screen.Dim, s.Paragraph("", "  ", Missing(*e.Missing))))
	case e.Crossed != nil:
		l.write(l.panel.Clear() + s.Paint(screen.Bad, s.Paragraph("", "  ", crossed(*e.Crossed))))
	}
	return nil
}

// lines returns the panel.
func (l *Live) lines(t float64) []string {
	lines := []string{fmt.Sprintf("%s  %.1f s", l.title, t)}
	for _, row := range rows {
		var parts []string
		for _, f := range row.figures {
			if v, ok := l.last[f[0]]; ok {
				parts = append(parts, strings.TrimSpace(f[1]+" "+Format(l.units[f[0]], v)))
			}
		}
		if len(parts) > 0 {
			lines = append(lines, fmt.Sprintf("%-9s %s", row.title, strings.Join(parts, "  ")))
		}
	}
	cells := min(len(l.cpu), max(l.panel.Screen.Width-12, 8))
	return append(lines, strings.TrimRight(fmt.Sprintf("%-9s %s", "", report.Spark(l.cpu[len(l.cpu)-cells:])), " "))
}

// End removes the panel.
func (l *Live) End() { l.write(l.panel.Clear()) }

func (l *Live) write(text string) { _, _ = io.WriteString(l.w, text) }
