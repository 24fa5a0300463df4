package observe

import (
	"context"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/load/export"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/results"
)

const (
	tableShare = 5 * time.Millisecond // of reading the server's tables, from which on it is done less often:
	tableRest  = 50                   // for so many times as long as it took
)

// An Observer follows the events of one run, and looks at the server and at the CPUs
// of both sides beside it. What it sees goes into the run's document and result, and
// to who looks on. Its methods are called one at a time.
type Observer struct {
	doc        *present.Document
	live       *present.Live    // nil when nothing is shown
	export     *export.Exporter // nil when nothing is exported
	cpus       []int            // of the generator
	begin, end edge
	rest       time.Time    // until then the server's tables are not read
	usage      *probe.Usage // of a generator on this machine; nil: there is none
	runtime    *runtimeLog
	clocks     *serverClocks // nil: who makes the load reads the server's, or nobody can
}

// Begin observes a run of which the document says what it is, and which processes
// are the server's; cpus are the generator's on this machine. Its user calls Close.
func Begin(ctx context.Context, doc *present.Document, live *present.Live, cpus []int, runtime *Runtime) *Observer {
	return &Observer{doc: doc, live: live, cpus: cpus, runtime: runtime.begin(ctx, doc)}
}

// Export passes the points on to e as well, which may be nil.
func (o *Observer) Export(e *export.Exporter) { o.export = e }

// edge is what was read at an edge of the window.
type edge struct {
	process results.Process
	unknown bool // process
	usage   probe.UsageReading
}

// Event looks at the server when the generator says that something happened.
func (o *Observer) Event(e spec.Event) (err error) {
	switch {
	case e.PID > 0 && o.usage != nil: // one of several
		err = o.usage.Add(e.PID)
	case e.PID > 0:
		o.usage, err = o.openUsage(e.PID)
	case e.Standing > 0:
		o.live.Standing(e.Standing)
	case e.Connected:
		o.live.Connected()
	case e.Window:
		o.live.Window()
		o.export.Window()
		o.begin, err = o.edge()
		o.runtime.window()
	case e.Tick != nil:
		o.point(e.Tick)
	case e.Result != nil:
		o.runtime.close()
		o.end, err = o.edge()
		o.concludeServer()
		o.concludeUsage(e.Result)
	}
	return err
}

// concludeServer says what the kernel counted for the server. Threads and
// descriptors are those of the last tick: the connections are about to close.
func (o *Observer) concludeServer() {
	s := o.doc.Server
	if s == nil {
		return
	}
	if !o.begin.unknown && !o.end.unknown {
		s.Process = probe.Since(o.end.process, o.begin.process)
	}
	if n := len(o.doc.Series); n > 0 {
		s.Process.Threads, s.Process.OpenFiles = o.doc.Series[n-1].Threads, o.doc.Series[n-1].OpenFiles
	}
}

// edge reads what is to be compared between the window's edges.
func (o *Observer) edge() (e edge, err error) {
	if o.doc.Server != nil {
		// It may be of processes that ended: their last words are the generator's.
		var gone error
		e.process, gone = probe.ReadProcess(o.doc.Server.PIDs)
		e.unknown = gone != nil
	}
	if o.usage != nil {
		e.usage, err = o.usage.Read()
	}
	return e, err
}

// openUsage begins to watch the CPUs that generator and server may use.
func (o *Observer) openUsage(generator int) (*probe.Usage, error) {
	cpus, pids := slices.Clone(o.cpus), []int{generator}
	if s := o.doc.Server; s != nil {
		pids = append(pids, s.PIDs...)
		theirs, err := probe.AllowedTo(s.PIDs[0])
		if err != nil {
			return nil, err
		}
		cpus = append(cpus, theirs...)
	}
	slices.Sort(cpus)
	return probe.OpenUsage(slices.Compact(cpus), pids...)
}

// concludeUsage says what others took of these CPUs.
func (o *Observer) concludeUsage(r *spec.Result) {
	if o.usage == nil {
		return
	}
	// Among many CPUs, a process that takes the generator's hides in the average: it shows
	// in the time that the generator waited, which the server may have caused as well.
	all := o.end.usage.Foreign(o.begin.usage)
	own := min(r.Waited, all*o.end.usage.Seconds(o.begin.usage)) / max(r.Seconds, 1e-3)
	foreign := max(all, min(1, own))
	r.Steal, r.Foreign = o.end.usage.Steal(o.begin.usage), &foreign
}

// Conclude puts what was seen of the server's runtime into the document, and saves its
// profiles. It waits for profiles that are under way.
func (o *Observer) Conclude(r *spec.Result) { o.runtime.conclude(r) }

// Close frees what was opened.
func (o *Observer) Close() {
	o.runtime.end()
	if o.usage != nil {
		o.usage.Close()
	}
}

// point adds a tick to the time series. What cannot be read of the server is left
// out: it may have ended, which the generator will say.
func (o *Observer) point(t *spec.Tick) {
	p := present.PointOf(t)
	if s := o.doc.Server; s != nil {
		if m, err := probe.ReadMemory(s.PIDs); err == nil {
			p.RSSBytes = m.RSSFinalBytes
			s.Memory.RSSPeakBytes = max(s.Memory.RSSPeakBytes, m.RSSPeakBytes)
			s.Memory.RSSFinalBytes, s.Memory.VSSBytes = m.RSSFinalBytes, m.VSSBytes
		}
		o.tables(&p, s.PIDs)
	}
	o.runtime.tick(t, &p)
	if n := len(o.doc.Series); n > 0 {
		p.UsedSince(&o.doc.Series[n-1])
	}
	o.doc.Series = append(o.doc.Series, p)
	o.live.Point(p)
	o.export.Point(p)
}

// tables counts the server's threads and descriptors. Where there are a hundred
// thousand, and a kernel before 6.2 that has them listed, that takes a good part of a
// tick, in which workers would not be heard: then it is done less often, and the last
// count stands.
func (o *Observer) tables(p *present.Point, pids []int) {
	begin := time.Now()
	if begin.Before(o.rest) {
		last := o.doc.Series[len(o.doc.Series)-1]
		p.Threads, p.OpenFiles = last.Threads, last.OpenFiles
		return
	}
	if threads, files, err := probe.ReadCounts(pids); err == nil {
		p.Threads, p.OpenFiles = threads, files
	}
	if took := time.Since(begin); took > tableShare && len(o.doc.Series) > 0 {
		o.rest = begin.Add(tableRest * took)
	}
}
