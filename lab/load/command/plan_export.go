package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/export"
)

// exportFlags say where figures go while the run goes on.
type exportFlags struct {
	to       []string
	run      string
	linger   time.Duration
	optional bool
}

func (l *exportFlags) bind(f *pflag.FlagSet) {
	f.StringArrayVar(&l.to, "export", nil, "send the figures, while the run goes on, to `FORMAT[=WHERE]`: prometheus=:9464 (serves /metrics), remote-write=URL, otlp=URL, influxdb=URL or influxdb=FILE; may be repeated")
	f.StringVar(&l.run, "export-run", "", "`NAME` of the run, the label run of what is exported (default: no such label)")
	f.DurationVar(&l.linger, "export-linger", 0, "`TIME` that /metrics stays after the run, at most, until the result has been fetched")
	f.BoolVar(&l.optional, "export-optional", false, "go on without a receiver that takes nothing, which is an error otherwise")
}

const maxRunName = 100 // bytes: it is in every series

// planExport reads where figures go.
func (p *plan) planExport(changed func(string) bool) error {
	l := &p.flags.export
	if len(l.to) == 0 {
		for _, flag := range []string{"export-run", "export-linger", "export-optional"} {
			if changed(flag) {
				return fmt.Errorf("--%s: say where to export to, as --export prometheus=:9464", flag)
			}
		}
		return nil
	}
	o := export.Options{Run: l.run, Optional: l.optional, Tool: cli.Version()}
	fetched := false
	for i, text := range l.to {
		out, err := export.Parse(text)
		if err != nil {
			return fmt.Errorf("--export %w", err)
		}
		for j, other := range o.Outputs {
			if out.String() == other.String() {
				return fmt.Errorf("--export %s: it is there twice, as number %d and %d; leave one out", out, j+1, i+1)
			}
		}
		fetched = fetched || out.Fetched()
		o.Outputs = append(o.Outputs, out)
	}
	switch {
	case p.flags.users.try:
		return errors.New("--try measures nothing: leave out --export")
	case p.flags.kube.kubernetes && !p.flags.kube.apply:
		return errors.New("--export: a run in a cluster has no place for the receiver's credentials; lead it from here with --apply, or leave it out")
	case l.linger < 0:
		return fmt.Errorf("--export-linger %v: want 0 or more", l.linger)
	case l.linger > 0 && !fetched:
		return errors.New("--export-linger is for --export prometheus, which is fetched; leave it out")
	case len(l.run) > maxRunName || strings.ContainsFunc(l.run, func(r rune) bool { return r < ' ' }) || strings.ToValidUTF8(l.run, "") != l.run:
		return fmt.Errorf("--export-run %q: want a name of one line, up to %d bytes", l.run, maxRunName)
	}
	p.export = o
	return nil
}

// checkExportFiles refuses files that are something else's: taken has the flags of those
// that are written.
func (p *plan) checkExportFiles(taken map[string]string) error {
	l := &p.flags
	for _, out := range p.export.Outputs {
		path := out.File()
		if path == "" {
			continue
		}
		if other, is := taken[filepath.Clean(path)]; is {
			return fmt.Errorf("--%s and --export %s: both would be written to %s; name two files", other, out, path)
		}
		if err := cli.CheckOutput("export influxdb", path, l.users.targets, l.bodyFile, l.protocol.ca, l.fleet.credentials); err != nil {
			return err
		}
	}
	return nil
}

// openExport reaches the receivers.
func (s *session) openExport(ctx context.Context) (err error) {
	s.export, err = export.Open(ctx, s.plan.export, s.plan.request.url)
	return err
}
