package command

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/redline-go/redline/lab/internal/child"
	"github.com/redline-go/redline/lab/internal/procfs"
	loadcommand "github.com/redline-go/redline/lab/load/command"
	"github.com/redline-go/redline/lab/load/observe"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/profile"
	"github.com/redline-go/redline/lab/report/screen"
)

// Console is where a verb writes.
type Console struct {
	Out, Err  io.Writer
	OutScreen screen.Screen
	ErrScreen screen.Screen
}

// capture is a process whose profiles are taken.
type capture struct {
	target  *Target
	console Console
	child   *child.Child      // nil: the process ran already
	runs    *loadcommand.Runs // nil: there is no load
	pid     int               // 0: unknown, perhaps on another machine
	source  best
	module  string // of a Go program; empty: unknown
	name    string // of the process; empty: unknown
}

// open finds or starts the process, and checks in advance that all kinds can be taken. The caller
// must call close, also after an error.
func (c *capture) open(ctx context.Context) (err error) {
	t := c.target
	if len(t.Command) > 0 {
		if err := child.Free(ctx, t.Load); err != nil {
			return err
		}
		if c.child, err = child.Start(t.Command, child.Options{Out: c.console.Err}); err != nil {
			return err
		}
	}
	if err := c.inside(ctx); err != nil {
		return c.early(err)
	}
	c.find()
	c.source.ask = Ask{PID: c.pid, Tree: t.Tree, Hz: t.Hz, Kernel: !t.NoKernel}
	if c.source.outside = outside(); c.pid == 0 {
		c.source.outside = nil
	}
	for _, k := range t.kinds {
		if err := c.source.missing(k); err != nil {
			return err
		}
	}
	if t.Load == "" {
		return nil
	}
	if c.child != nil {
		if err := child.Listening(ctx, c.ended(), t.Load); err != nil {
			return c.early(err)
		}
	}
	c.runs, err = t.load.Open(ctx, t.Load, t.changed)
	return c.early(err)
}

// early returns the error of a command that ended before it could be profiled.
func (c *capture) early(err error) error {
	if err == nil || c.child == nil || !c.child.Ended() {
		return err
	}
	return fmt.Errorf("%s ended before it could be profiled: %s", c.child.Name(), c.child.How())
}

// inside connects to the profiles that the process itself offers.
func (c *capture) inside(ctx context.Context) error {
	t := c.target
	connect := func(f func() error) error { return child.Patiently(ctx, c.ended(), f) }
	if t.base != "" {
		pages := profile.URL(t.base)
		err := connect(func() error {
			source, err := observe.OpenPProf(ctx, t.base)
			if err == nil {
				err = source.Close()
			}
			return err
		})
		if err == nil {
			err = pages.Ready(ctx, t.kinds)
		}
		if err != nil {
			return fmt.Errorf("--pprof %s: %w", t.PProf, err)
		}
		c.source.inside = pages
		return nil
	}
	if t.Control == "" {
		return nil
	}
	var offered []string
	err := connect(func() error {
		source, first, err := observe.OpenSocket(ctx, t.Control)
		if err == nil {
			offered = first.Profiles
			err = source.Close()
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("--control %s: %w", t.Control, err)
	}
	for _, k := range t.kinds {
		if !k.Outside() && !slices.Contains(offered, string(k)) {
			return fmt.Errorf("--control %s: it offers the profiles %s, not %s; name the service's --pprof URL", t.Control, strings.Join(offered, ", "), k)
		}
	}
	c.source.inside = profile.Socket(t.Control)
	return nil
}

// find finds the process and its module. Profiles that the process offers need neither.
func (c *capture) find() {
	t := c.target
	switch {
	case c.child != nil:
		c.pid = c.child.PID()
	case t.PID != 0:
		c.pid = t.PID
	case t.Control != "":
		c.pid, _ = probe.OwnerOfSocket(t.Control)
	case t.base != "":
		c.pid, _ = probe.OwnerOfURL(t.base)
	}
	if c.pid != 0 {
		c.module = moduleOf(c.exe())
	}
	c.name = c.process()
}

// exe is the program of the process, also if its file was replaced since.
func (c *capture) exe() string { return fmt.Sprintf("/proc/%d/exe", c.pid) }

// process names the process: its name and id; empty if it is unknown, perhaps on another machine.
func (c *capture) process() string {
	if c.pid == 0 {
		return ""
	}
	if stat, err := procfs.Host.Stat(c.pid); err == nil {
		return fmt.Sprintf("%s (process %d)", strings.ToValidUTF8(stat.Comm, "?"), c.pid)
	}
	return fmt.Sprintf("process %d", c.pid) // it has ended
}

// moduleOf returns the main module of a Go program, "" if it cannot be read.
func moduleOf(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return ""
	}
	return info.Main.Path
}

// ended returns the channel that is closed when the command has ended; nil without one.
func (c *capture) ended() <-chan struct{} {
	if c.child == nil {
		return nil
	}
	return c.child.Done()
}

// close ends the load and the command.
func (c *capture) close() (err error) {
	if c.runs != nil {
		err = c.runs.Close()
	}
	if c.child != nil {
		err = errors.Join(err, c.child.Close())
	}
	return err
}
