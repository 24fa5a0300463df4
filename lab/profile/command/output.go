package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/profile/export"
	"github.com/redline-go/redline/lab/profile/flame"
	"github.com/redline-go/redline/lab/profile/show"
	"github.com/redline-go/redline/lab/profile/source"
	"github.com/redline-go/redline/lab/profile/tree"
	"github.com/redline-go/redline/lab/report"
)

// loadLine is a line about the load.
func loadLine(doc *present.Document) string {
	text := report.PerSecond(doc.RequestsPerSecond) + " requests/s"
	if doc.Latency.P50 != nil {
		text += ", p50 " + report.Quantile(doc.Latency.P50, " ") + ", p99 " + report.Quantile(doc.Latency.P99, " ")
	}
	return text
}

// all shows profiles one after the other, and writes their files.
func (v *View) all(list []taken, console Console) error {
	said := map[string]bool{} // notes
	for i, one := range list {
		if i > 0 {
			fmt.Fprintln(console.Out)
		}
		if len(list) > 1 {
			fmt.Fprintf(console.Out, "== %s\n", one.name)
		}
		if err := v.one(one, len(list) > 1, said, console); err != nil {
			return err
		}
	}
	return nil
}

// one shows a profile. several: there are others, so its files need names of their own. A note is
// said once.
func (v *View) one(one taken, several bool, said map[string]bool, console Console) error {
	s, value, err := v.samples(one)
	if err != nil {
		return err
	}
	if err := show.Top(console.Out, s, show.Options{Screen: console.OutScreen, Top: v.Top, ByCum: v.ByCum}); err != nil {
		return err
	}
	for _, note := range s.Window.Notes {
		if !said[note] {
			said[note] = true
			fmt.Fprintln(console.Out, "note:", note)
		}
	}
	if v.Calls {
		fmt.Fprintln(console.Out)
		if err := show.Calls(console.Out, s, console.OutScreen); err != nil {
			return err
		}
	}
	err = v.sources(one, s, value, console.Out)
	if several && errors.Is(err, source.ErrNone) { // another profile may have it
		fmt.Fprintln(console.Out, err)
		err = nil
	}
	if err != nil {
		return err
	}
	return v.files(one, s, several)
}

// sources shows lines and instructions.
func (v *View) sources(one taken, s *tree.Samples, value int, out io.Writer) error {
	o := source.Options{Value: value, Print: func(x float64) string { return show.Amount(x, s.Unit) }}
	if each := s.PerRequest(); each > 0 {
		o.Each = func(x float64) string { return show.Amount(x*each, s.Unit) }
	}
	if v.Source != "" {
		o.Dirs = []string{v.Source}
	}
	main := ""
	if len(one.profile.Mapping) > 0 {
		main = one.profile.Mapping[0].File
	}
	o.Binary = func(file string) string {
		if v.Binary != "" && file == main {
			return v.Binary
		}
		return file
	}
	if v.list != nil {
		o.Match = v.list
		fmt.Fprintln(out)
		if err := source.List(out, one.profile, o); err != nil {
			return err
		}
	}
	if v.disasm != nil {
		o.Match = v.disasm
		fmt.Fprintln(out)
		return source.Disasm(out, one.profile, o)
	}
	return nil
}

// files writes the files of a profile.
func (v *View) files(one taken, s *tree.Samples, several bool) error {
	name := func(path string) string {
		if !several {
			return path
		}
		ext := filepath.Ext(path)
		label := strings.TrimSuffix(filepath.Base(one.name), filepath.Ext(one.name))
		return strings.TrimSuffix(path, ext) + "." + label + ext
	}
	for _, out := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{v.PProfOut, one.profile.Write},
		{v.Speedscope, func(w io.Writer) error { return export.Speedscope(w, s, one.name) }},
		{v.Collapsed, func(w io.Writer) error { return export.Collapsed(w, s) }},
	} {
		if out.path == "" {
			continue
		}
		if err := cli.WritePage(name(out.path), out.write); err != nil {
			return err
		}
	}
	if v.HTML == "" {
		return nil
	}
	return v.page(name(v.HTML), one.name, s, nil)
}

// page writes a page with a flame graph; before is nil unless two profiles are compared.
func (v *View) page(path, name string, s, before *tree.Samples) error {
	return cli.WritePage(path, func(w io.Writer) error { return flame.Write(w, flame.Page{Name: name, Samples: s, Before: before}) })
}
