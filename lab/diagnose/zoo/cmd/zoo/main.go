// Command zoo diagnoses the services of the zoo and their twins with redline, and says how often
// the planted cause was named, and how often a healthy service was blamed.
//
// It loads only servers that it started, one after the other, and takes about a minute for each
// service and its twin. The machine should have nothing else to do.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redline-go/redline/lab/diagnose/zoo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "zoo:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	redline string
	only    string
	doc     string
	keep    string
	reports string
	check   bool
	built   string
	quick   bool
	serve   string
	port    int
	twin    bool
}

func run(ctx context.Context) (err error) {
	var o options
	flag.StringVar(&o.redline, "redline", "redline", "`PATH` of the redline command")
	flag.StringVar(&o.only, "only", "", "diagnose only species whose names match `REGEXP`")
	flag.StringVar(&o.doc, "doc", "", "write the table between the markers of this `FILE`")
	flag.StringVar(&o.keep, "keep", "", "keep the reports and the evidence in `DIR`")
	flag.StringVar(&o.built, "built", "", "build into `DIR`, and use what is there already")
	flag.StringVar(&o.serve, "serve", "", "diagnose nothing: start the service `NAME` and keep it until Ctrl-C")
	flag.IntVar(&o.port, "port", 0, "port of -serve; 0: any")
	flag.BoolVar(&o.twin, "twin", false, "of -serve: the healthy twin")
	flag.BoolVar(&o.quick, "quick", false, "shorter loads: half the time, and more noise")
	flag.StringVar(&o.reports, "reports", "", "diagnose nothing: count what the reports in `DIR` say, which -keep has written")
	flag.BoolVar(&o.check, "check", false, "fail unless the goals are reached")
	flag.Parse()
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if o.reports != "" {
		return o.count(only)
	}
	if o.built != "" {
		err = zoo.Keep(ctx, o.built)
	} else {
		err = zoo.Build(ctx)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, zoo.Clean()) }()
	if o.serve != "" {
		return o.keepServing(ctx)
	}
	if o.keep != "" {
		if err := os.MkdirAll(o.keep, 0o755); err != nil {
			return fmt.Errorf("-keep: %w", err)
		}
	}
	var all []row
	for _, s := range zoo.All() {
		if !only.MatchString(s.Name) {
			continue
		}
		r := row{species: s}
		if r.sick, err = o.diagnose(ctx, s, false); err == nil {
			r.twin, err = o.diagnose(ctx, s, true)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.failed = err.Error()
		}
		fmt.Println(r.line())
		all = append(all, r)
	}
	return o.conclude(all)
}

// conclude prints the totals, writes the table, and checks the goals.
func (o *options) conclude(all []row) error {
	sum := sum(all)
	fmt.Println(sum.text())
	if o.doc != "" {
		if err := write(o.doc, all, sum); err != nil {
			return err
		}
	}
	if o.check {
		return sum.goals()
	}
	return nil
}

// count is run with reports that were kept. A species without both is left out.
func (o *options) count(only *regexp.Regexp) error {
	var all []row
	for _, s := range zoo.All() {
		r := row{species: s}
		err := errors.Join(read(filepath.Join(o.reports, s.Name+".json"), &r.sick), read(filepath.Join(o.reports, s.Name+"-twin.json"), &r.twin))
		switch {
		case !only.MatchString(s.Name), errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return err
		}
		fmt.Println(r.line())
		all = append(all, r)
	}
	return o.conclude(all)
}

func read(path string, r *report) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, r); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// keepServing starts one service, for a diagnosis by hand.
func (o *options) keepServing(ctx context.Context) error {
	all := zoo.All()
	i := slices.IndexFunc(all, func(s zoo.Species) bool { return s.Name == o.serve })
	if i < 0 {
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		return fmt.Errorf("-serve %s: write one of %s", o.serve, strings.Join(names, ", "))
	}
	s := all[i]
	s.Port = o.port
	server, err := s.Start(ctx, o.twin)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n%s%s\n", s.Does, s.Base(server.Addr), s.Requests[0].Path)
	<-ctx.Done()
	return server.Stop()
}

// patience limits one diagnosis.
const patience = 3 * time.Minute

// diagnose starts one variant and diagnoses it.
func (o *options) diagnose(ctx context.Context, s zoo.Species, twin bool) (r report, err error) {
	server, err := s.Start(ctx, twin)
	if err != nil {
		return r, err
	}
	stopped := false
	defer func() {
		if !stopped {
			err = errors.Join(err, server.Stop())
		}
	}()
	scenario, err := s.Scenario(server.Addr)
	if err != nil {
		return r, err
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	name := s.Name
	if twin {
		name += "-twin"
	}
	args := flags(s)
	if o.quick {
		args = append(args, "--most", "64", "--step", "500ms", "--window", "2s", "--warmup", "300ms")
	}
	if o.keep != "" {
		args = append(args, "--record", filepath.Join(o.keep, name+".evidence.gz"))
	}
	cmd := exec.CommandContext(ctx, o.redline, append(args, s.Base(server.Addr))...)
	cmd.Stdin = bytes.NewReader(scenario)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if len(out) == 0 {
		return r, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	// An exit code tells that causes were found, or that the load was not valid: the report says so.
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("read the report: %w", err)
	}
	stopped = true
	// A server that its fault has killed is no error of the zoo.
	if err := server.Stop(); err != nil {
		r.Ended = err.Error()
	}
	if o.keep == "" {
		return r, nil
	}
	return r, os.WriteFile(filepath.Join(o.keep, name+".json"), out, 0o644)
}

// flags are those of redline diagnose for a species.
func flags(s zoo.Species) []string {
	list := []string{"diagnose", "--quiet", "--json", "-", "--targets", "-"}
	if s.PerConnection > 0 {
		list = append(list, "--requests-per-connection", strconv.Itoa(s.PerConnection))
	}
	if s.TLS {
		list = append(list, "--insecure", "--tls-resume")
	}
	return list
}
