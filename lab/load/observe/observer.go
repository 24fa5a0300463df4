package observe

import (
	"context"
	"slices"
	"time"

	"github.com/redline-go/redline/lab/load/export"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/probe"
)

const (
	tableShare = 5 * time.Millisecond // if reading the server's tables takes longer than this, it is done less often:
	tableRest  = 50                   // not for this many times as long

	usageEvery = 900 * time.Millisecond // a second, of which a tick may lack a little
	usageRest  = 20                     // as tableRest: a machine that is disturbed is slow to read, and is what is to be seen
)

// An Observer receives the events of one run, and reads counters of the server and of the
// CPUs of both sides. It adds them to the run's document and result, and to the live
// display. It is not safe for concurrent use.
type Observer struct {
	doc     *present.Document
	live    *present.Live    // nil when nothing is shown
	export  *export.Exporter // nil when nothing is exported
	cpus    []int            // of the generator
	window  *probe.Window
	rest    time.Time // the server's tables are not read before
	idle    time.Time // nor is the usage of the CPUs
	runtime *runtimeLog
	clocks  *serverClocks // nil: the generator reads them, or they cannot be read
	began   func()        // called when the window begins; nil: nobody waits for it
}

// Begin begins to observe a run. doc describes the run and lists the server's processes;
// cpus are the generator's on this machine. The caller must call Close.
func Begin(ctx context.Context, doc *present.Document, live *present.Live, cpus []int, runtime *Runtime) *Observer {
	var server []int
	if doc.Server != nil {
		server = doc.Server.PIDs
	}
	return &Observer{doc: doc, live: live, cpus: cpus, window: probe.NewWindow(server), runtime: runtime.begin(ctx, doc)}
}

// Export also passes the points to e, which may be nil.
func (o *Observer) Export(e *export.Exporter) { o.export = e }

// OnWindow makes the observer call f when the window begins. f must return at once.
func (o *Observer) OnWindow(f func()) { o.began = f }

// Event processes an event of the generator, and reads the server's counters.
func (o *Observer) Event(e spec.Event) (err error) {
	switch {
	case e.PID > 0:
		err = o.join(e.PID)
	case e.Standing > 0:
		o.live.Standing(e.Standing)
	case e.Connected:
		o.live.Connected()
	case e.Window:
		o.live.Window()
		o.export.Window()
		err = o.window.Begin()
		o.runtime.window()
		if o.began != nil {
			o.began()
		}
	case e.Tick != nil:
		o.point(e.Tick)
	case e.Result != nil:
		o.runtime.close()
		err = o.window.End()
		o.concludeServer()
		o.concludeUsage(e.Result)
	}
	return err
}

// concludeServer sets the kernel's counts for the server. Threads and descriptors are those
// of the last tick, because the connections are about to close.
func (o *Observer) concludeServer() {
	s := o.doc.Server
	if s == nil {
		return
	}
	if o.window.Gone() == nil {
		s.Process = o.window.Process()
	}
	if n := len(o.doc.Series); n > 0 {
		s.Process.Threads, s.Process.OpenFiles = o.doc.Series[n-1].Threads, o.doc.Series[n-1].OpenFiles
	}
}

// join begins to measure the usage of the CPUs that generator and server may use, or adds a
// further generator on this machine.
func (o *Observer) join(generator int) error {
	if o.window.Opened() {
		return o.window.Add(generator)
	}
	cpus := slices.Clone(o.cpus)
	if s := o.doc.Server; s != nil {
		theirs, err := probe.AllowedTo(s.PIDs[0])
		if err != nil {
			return err
		}
		cpus = append(cpus, theirs...)
	}
	slices.Sort(cpus)
	return o.window.Open(slices.Compact(cpus), generator)
}

// concludeUsage sets the shares of these CPUs that the hypervisor and other processes used.
func (o *Observer) concludeUsage(r *spec.Result) {
	if !o.window.Opened() {
		return
	}
	// The server may also have caused the generator's waiting.
	foreign := o.window.Foreign(r.Waited, r.Seconds)
	r.Steal, r.Foreign = o.window.Steal(), &foreign
}

// Conclude adds the measurements of the server's runtime to the document, and saves its
// profiles. It waits for pending profiles.
func (o *Observer) Conclude(r *spec.Result) { o.runtime.conclude(r) }

// Close releases all resources.
func (o *Observer) Close() {
	o.runtime.end()
	o.window.Close()
}

// point adds a tick to the time series. Counters of the server that cannot be read are
// omitted: it may have ended, which the generator reports.
func (o *Observer) point(t *spec.Tick) {
	p := present.PointOf(t)
	if s := o.doc.Server; s != nil {
		if o.window.Tick(&s.Memory) == nil {
			p.RSSBytes = s.Memory.RSSFinalBytes
		}
		o.tables(&p, s.PIDs)
	}
	o.usage(&p)
	o.runtime.tick(t, &p)
	if n := len(o.doc.Series); n > 0 {
		p.UsedSince(&o.doc.Series[n-1])
	}
	o.doc.Series = append(o.doc.Series, p)
	o.live.Point(p)
	o.export.Point(p)
}

// usage reads who else has used the CPUs since the previous reading, about once a second: the accounts of
// the kernel are in hundredths of a second, and there may be thousands of processes to read. What cannot
// be read is left out: the end of the window reports it.
func (o *Observer) usage(p *present.Point) {
	begin := time.Now()
	if !o.window.Opened() || begin.Before(o.idle) {
		return
	}
	if steal, foreign, known, err := o.window.Usage(); err == nil && known {
		p.Steal, p.Foreign = &steal, &foreign
	}
	o.idle = begin.Add(max(usageEvery, usageRest*time.Since(begin)))
}

// tables counts the server's threads and descriptors. If there are a hundred thousand, and
// the kernel is older than 6.2, so that they have to be listed, that takes a large part of
// a tick, during which events of workers wait. It is then done less often, and the last
// count is repeated.
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
