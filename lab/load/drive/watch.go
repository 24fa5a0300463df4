package drive

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/cputime"
	"github.com/redline-go/redline/lab/internal/file"
	"github.com/redline-go/redline/lab/load/page"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/load/spec"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/results"
)

const (
	tableShare = 5 * time.Millisecond // of reading the server's tables, from which on it is done less often:
	tableRest  = 50                   // for so many times as long as it took
)

// watch follows one generator, and looks at the server beside it.
type watch struct {
	*loader
	doc        *present.Document
	begin, end edge
	rest       time.Time    // until then the server's tables are not read
	usage      *probe.Usage // of a generator on this machine; nil: there is none
	crew       *crewed      // of several workers
	look       *look

	// Of workers that cannot read the server's clocks, as they are not where it is.
	clocks *cputime.Track // nil: they can, or nobody can
	began  time.Time      // the load
}

// edge is what was read at an edge of the window.
type edge struct {
	process results.Process
	unknown bool // process
	usage   probe.UsageReading
}

// event looks at the server when the generator says that something happened.
func (w *watch) event(e spec.Event) (err error) {
	switch {
	case e.PID > 0:
		w.usage, err = w.openUsage(e.PID)
	case e.Standing > 0:
		w.show(func(l *present.Live) { l.Standing(e.Standing) })
	case e.Connected:
		w.show(func(l *present.Live) { l.Connected() })
	case e.Window:
		w.show(func(l *present.Live) { l.Window() })
		w.begin, err = w.edge()
		w.look.window()
	case e.Tick != nil:
		w.point(e.Tick)
	case e.Result != nil:
		w.look.close()
		w.end, err = w.edge()
		w.concludeServer()
		w.concludeUsage(e.Result)
	}
	return err
}

// concludeServer says what the kernel counted for the server. Threads and
// descriptors are those of the last tick: the connections are about to close.
func (w *watch) concludeServer() {
	s := w.doc.Server
	if s == nil {
		return
	}
	if !w.begin.unknown && !w.end.unknown {
		s.Process = probe.Since(w.end.process, w.begin.process)
	}
	if n := len(w.doc.Series); n > 0 {
		s.Process.Threads, s.Process.OpenFiles = w.doc.Series[n-1].Threads, w.doc.Series[n-1].OpenFiles
	}
}

func (w *watch) show(how func(*present.Live)) {
	if w.live != nil {
		how(w.live)
	}
}

func (w *watch) edge() (e edge, err error) {
	if w.doc.Server != nil {
		// It may be of processes that ended: their last words are the generator's.
		var gone error
		e.process, gone = probe.ReadProcess(w.doc.Server.PIDs)
		e.unknown = gone != nil
	}
	if w.usage != nil {
		e.usage, err = w.usage.Read()
	}
	return e, err
}

// openUsage begins to watch the CPUs that generator and server may use.
func (w *watch) openUsage(generator int) (*probe.Usage, error) {
	cpus, pids := slices.Clone(w.cpus), []int{generator}
	if s := w.doc.Server; s != nil {
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
func (w *watch) concludeUsage(r *spec.Result) {
	if w.usage == nil {
		return
	}
	foreign := w.end.usage.Foreign(w.begin.usage)
	r.Steal, r.Foreign = w.end.usage.Steal(w.begin.usage), &foreign
}

// close frees what was opened.
func (w *watch) close() {
	w.look.end()
	if w.usage != nil {
		w.usage.Close()
	}
}

// point adds a tick to the time series. What cannot be read of the server is left
// out: it may have ended, which the generator will say.
func (w *watch) point(t *spec.Tick) {
	p := present.PointOf(t)
	if s := w.doc.Server; s != nil {
		if m, err := probe.ReadMemory(s.PIDs); err == nil {
			p.RSSBytes = m.RSSFinalBytes
			s.Memory.RSSPeakBytes = max(s.Memory.RSSPeakBytes, m.RSSPeakBytes)
			s.Memory.RSSFinalBytes, s.Memory.VSSBytes = m.RSSFinalBytes, m.VSSBytes
		}
		w.tables(&p, s.PIDs)
	}
	w.look.tick(t, &p)
	w.doc.Series = append(w.doc.Series, p)
	w.show(func(l *present.Live) { l.Point(p) })
}

// tables counts the server's threads and descriptors. Where there are a hundred
// thousand, and a kernel before 6.2 that has them listed, that takes a good part of a tick, in which workers would not be heard: then
// it is done less often, and the last count stands.
func (w *watch) tables(p *present.Point, pids []int) {
	begin := time.Now()
	if begin.Before(w.rest) {
		last := w.doc.Series[len(w.doc.Series)-1]
		p.Threads, p.OpenFiles = last.Threads, last.OpenFiles
		return
	}
	if threads, files, err := probe.ReadCounts(pids); err == nil {
		p.Threads, p.OpenFiles = threads, files
	}
	if took := time.Since(begin); took > tableShare && len(w.doc.Series) > 0 {
		w.rest = begin.Add(tableRest * took)
	}
}

// clocked adds the server's CPU to a tick of workers that do not know it. It ends so
// many seconds after the load began.
func (w *watch) clocked(t *spec.Tick, end, seconds float64) {
	if w.clocks == nil {
		return
	}
	_, _, total, known, err := w.clocks.Between(w.after(end-seconds), w.after(end))
	if err != nil {
		w.unseen(err)
	} else if known > 0 {
		t.ServerCPU = total / known
	}
}

// clockedWindow adds it to the result of a window; nil: there is none.
func (w *watch) clockedWindow(r *spec.Result, warmup time.Duration) {
	if w.clocks == nil || r == nil {
		return
	}
	var err error
	from := w.after(warmup.Seconds())
	if r.ServerUser, r.ServerSys, r.ServerCPU, _, err = w.clocks.Between(from, from.Add(time.Duration(r.Seconds*1e9))); err != nil {
		w.unseen(err)
		return
	}
	r.Gone = w.clocks.Gone()
}

// unseen gives the server up that is watched beside workers of other machines. Their
// run goes on: what they measure does not depend on it.
func (w *watch) unseen(err error) {
	w.clocks, w.doc.Server = nil, nil
	w.doc.Notes = append(w.doc.Notes, fmt.Sprintf("the server's CPU and memory are left out: %v", err))
}

// after is the time so many seconds after the load began.
func (w *watch) after(seconds float64) time.Time {
	return w.began.Add(time.Duration(seconds * float64(time.Second)))
}

// write prints the summary and saves the files that were asked for.
func (r *loader) write(c *cobra.Command, d *present.Document) error {
	for _, out := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{r.json, d.Encode},
		{r.csv, func(w io.Writer) error { return present.CSV(w, d.Series) }},
		{r.hdr, func(w io.Writer) error { return present.HDR(w, d) }},
	} {
		if out.path == "" || out.path == "-" {
			continue
		}
		var text bytes.Buffer
		err := out.write(&text)
		if err == nil {
			err = file.Write(out.path, text.Bytes())
		}
		if err != nil {
			return fmt.Errorf("save the results: %w", err)
		}
	}
	if r.html != "" {
		if err := cli.WritePage(r.html, func(w io.Writer) error { return page.Write(w, d) }); err != nil {
			return err
		}
	}
	if r.json != "-" {
		return present.Summary(c.OutOrStdout(), d)
	}
	if !r.quiet {
		if err := present.Summary(c.ErrOrStderr(), d); err != nil {
			return err
		}
	}
	return d.Encode(c.OutOrStdout())
}
