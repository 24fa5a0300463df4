package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/redline-go/redline/lab/internal/redact"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/guard"
	"github.com/redline-go/redline/lab/machine"
	"github.com/redline-go/redline/lab/probe"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

// envFlags are the flags of redline env.
type envFlags struct {
	json, apply               bool
	serverCPUs, generatorCPUs string
}

// newEnv returns the command that shows what on the machine disturbs a measurement, and
// changes it temporarily.
func newEnv() *cobra.Command {
	var e envFlags
	c := &cobra.Command{
		Use:   "env [--apply [-- COMMAND ...]]",
		Short: "Show what on this machine disturbs a measurement, and change it temporarily",
		Long: `Show what on this machine disturbs a measurement, and change it temporarily.

With --apply the settings that can be changed are shown, changed, and restored
when COMMAND ends, even if it crashes or is interrupted. The exit code is that of
COMMAND. Without COMMAND the changes stay in effect until Ctrl-C or the end of
input.`,
		Example: `  redline env
  redline env --json
  sudo redline env --apply -- redline bench --full`,
		Args: func(_ *cobra.Command, args []string) error {
			if e.apply && e.json {
				return cli.Usage("--json only prints the findings and --apply changes settings: use one of the two")
			}
			if len(args) > 0 && !e.apply {
				return cli.Usage("to run %s with the changes applied, write: redline env --apply -- %s", args[0], strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return e.run(c, args) },
	}
	f := c.Flags()
	f.SortFlags = false
	f.SetInterspersed(false) // flags after COMMAND belong to COMMAND
	f.BoolVar(&e.apply, "apply", false, "make the changes, run COMMAND, undo them")
	f.BoolVar(&e.json, "json", false, "print machine and findings as JSON")
	f.StringVar(&e.serverCPUs, "server-cpus", "", "`CPUS` that the subjects will run on (default: the first one allowed)")
	f.StringVar(&e.generatorCPUs, "generator-cpus", "", "`CPUS` that the generator will run on (default: the last one allowed)")
	return c
}

func (e *envFlags) run(c *cobra.Command, command []string) error {
	h, err := e.host()
	if err != nil {
		return err
	}
	found, err := h.Disturbances(c.Context())
	if err != nil {
		return err
	}
	if e.apply {
		return applyEnv(c.Context(), c.InOrStdin(), c.ErrOrStderr(), machine.Changes(found), command)
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	m := h.Fingerprint(dir)
	if e.json {
		enc := json.NewEncoder(c.OutOrStdout())
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(struct {
			Machine  results.Machine   `json:"machine"`
			Findings []machine.Finding `json:"findings"`
		}{m, append([]machine.Finding{}, found...)})
	}
	return printEnv(c.OutOrStdout(), cli.ScreenOf(c, c.OutOrStdout()), m, found)
}

// host assigns CPUs to the two sides as redline bench does.
func (e *envFlags) host() (*machine.Host, error) {
	allowed, err := probe.Allowed()
	if err != nil {
		return nil, err
	}
	h := &machine.Host{ServerCPUs: allowed[:1], GeneratorCPUs: allowed[len(allowed)-1:]}
	for _, x := range []struct {
		flag, text string
		to         *[]int
	}{{"server-cpus", e.serverCPUs, &h.ServerCPUs}, {"generator-cpus", e.generatorCPUs, &h.GeneratorCPUs}} {
		if x.text == "" {
			continue
		}
		if *x.to, err = probe.ParseCPUs(x.text); err != nil {
			return nil, cli.Usage("--%s: %w", x.flag, err)
		}
	}
	return h, nil
}

// printEnv prints the machine in a few lines, and the findings as a table, or as a list if
// the table is too wide.
func printEnv(w io.Writer, s screen.Screen, m results.Machine, found []machine.Finding) error {
	var b strings.Builder
	say := func(format string, args ...any) { b.WriteString(s.Paragraph("", "  ", fmt.Sprintf(format, args...))) }
	say("%s, %d CPUs, %s", or(m.CPU, "unknown CPU"), m.CPUs, report.Bytes(float64(m.MemoryBytes), " "))
	say("%s, kernel %s, %s, %s", m.OS, or(m.Kernel, "unknown"), m.Arch, m.Go)
	b.WriteString("\n")
	if len(found) == 0 {
		b.WriteString("Nothing on this machine disturbs a measurement.\n")
		_, err := io.WriteString(w, b.String())
		return err
	}
	if s.Width > 0 && s.Width < screen.Usual {
		b.WriteString(findingsList(s, found))
	} else {
		b.WriteString(findingsTable(s, found) + "\n")
	}
	disturbing := 0
	for _, f := range found {
		if f.Disturbs {
			disturbing++
		}
	}
	say("%d of %d findings disturb every measurement (!), the others only some.", disturbing, len(found))
	if n := len(machine.Changes(found)); n > 0 {
		say("redline env --apply -- COMMAND changes %s while COMMAND runs%s.", count(n, "setting"), asRoot())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// findingName returns the name, with a mark if the finding disturbs every measurement.
func findingName(s screen.Screen, f machine.Finding) string {
	if f.Disturbs {
		return s.Paint(screen.Bad, "! "+f.Name)
	}
	return "  " + f.Name
}

// findingsList formats the findings for narrow screens.
func findingsList(s screen.Screen, found []machine.Finding) string {
	const indent = "    "
	var b strings.Builder
	for _, f := range found {
		b.WriteString(s.Paragraph("", "  ", findingName(s, f)+": "+f.Value))
		for part := range strings.SplitSeq(f.Why+"\nDo: "+remedy(f), "\n") {
			b.WriteString(s.Paragraph(indent, indent, part))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// usualEnv is the width of the table in files and pipes, in columns.
const usualEnv = 140

// findingsTable formats the findings for wide screens, and for files and pipes.
func findingsTable(s screen.Screen, found []machine.Finding) string {
	const borders, what, now = 13, 22, 26
	width := usualEnv
	if s.Width > 0 {
		width = s.Width
	}
	rest := width - what - now - borders
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateRows = true
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, WidthMax: what, WidthMaxEnforcer: wrapLines},
		{Number: 2, WidthMax: now, WidthMaxEnforcer: wrapLines},
		{Number: 3, WidthMax: rest / 2, WidthMaxEnforcer: wrapLines},
		{Number: 4, WidthMax: rest - rest/2, WidthMaxEnforcer: wrapLines},
	})
	t.AppendHeader(table.Row{"what", "now", "why it matters", "what to do"})
	for _, f := range found {
		t.AppendRow(table.Row{findingName(s, f), f.Value, f.Why, remedy(f)})
	}
	return t.Render()
}

// wrapLines wraps each line separately: text.WrapSoft alone would join them.
func wrapLines(s string, width int) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = text.WrapSoft(line, width)
	}
	return strings.Join(lines, "\n")
}

// remedy returns the advice, and what --apply does about the finding.
func remedy(f machine.Finding) string {
	switch len(f.Changes) {
	case 0:
		return f.Advice
	case 1:
		return f.Advice + "\n--apply: " + f.Changes[0].String()
	}
	return f.Advice + fmt.Sprintf("\n--apply: %s, and %d more", f.Changes[0], len(f.Changes)-1)
}

func asRoot() string {
	if os.Geteuid() == 0 {
		return ""
	}
	return ", as root"
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// applyEnv makes the changes, runs the command or waits, and undoes them.
func applyEnv(ctx context.Context, in io.Reader, say io.Writer, changes []machine.Change, command []string) (err error) {
	fmt.Fprintf(say, "redline: %s to change\n", count(len(changes), "setting"))
	for _, c := range changes {
		fmt.Fprintf(say, "  %s\n", c)
	}
	if len(changes) > 0 && os.Geteuid() != 0 {
		fmt.Fprintln(say, "redline: changing them requires root: sudo redline env --apply ...")
		return cli.ExitCode(1)
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	g, err := guard.Start(exe)
	if err != nil {
		return err
	}
	defer func() { err = worse(err, g.Close()) }()
	applied, err := machine.Apply(changes, g)
	defer func() {
		n := len(applied.Done)
		undo := applied.Undo()
		if n > 0 && undo == nil {
			fmt.Fprintf(say, "redline: %s restored\n", count(n, "setting"))
		}
		err = worse(err, undo)
	}()
	for _, f := range applied.Failed {
		fmt.Fprintf(say, "redline: not changed: %v\n", f)
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return cli.ExitCode(130)
	case len(changes) > 0 && len(applied.Done) == 0:
		return cli.ExitCode(1) // each was printed with its reason
	case len(command) == 0:
		return hold(ctx, in, say)
	}
	record, err := applied.Environ()
	if err != nil {
		return err
	}
	return runUnder(g, command, record)
}

// worse joins the error of the cleanup to an earlier one. An exit code alone would hide it:
// it is then printed to standard error, and success becomes failure.
func worse(err, tidy error) error {
	var code cli.ExitCode
	if tidy != nil && errors.As(err, &code) {
		fmt.Fprintln(os.Stderr, "redline:", redact.Text(tidy.Error()))
		return err
	}
	return errors.Join(err, tidy)
}

// hold waits for an interrupt or the end of input; both are a normal end.
func hold(ctx context.Context, in io.Reader, say io.Writer) error {
	fmt.Fprintln(say, "redline: the changes stay in effect until Ctrl-C or the end of input")
	end := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, in)
		end <- err
	}()
	select {
	case <-ctx.Done():
		return nil
	case err := <-end:
		return err
	}
}

// treeKiller is the part of [guard.Guard] that a running command needs.
type treeKiller interface {
	KillTree(pid int) (release func() error, err error)
}

// runUnder runs the command with the standard input and output of this process and returns
// its exit code, which is 128 plus the signal's number if a signal ended it. record is
// added to its environment.
func runUnder(g treeKiller, command []string, record string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), record)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run the command: %w", err)
	}
	release, err := g.KillTree(cmd.Process.Pid)
	if err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	done := make(chan struct{})
	defer close(done)
	go passOn(signals, cmd.Process, term.IsTerminal(int(os.Stdin.Fd())), done)
	err = errors.Join(cmd.Wait(), release())
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return cli.ExitCode(128 + int(status.Signal()))
	}
	return cli.ExitCode(exit.ExitCode())
}

// passOn forwards the signals that the command does not receive itself: a terminal sends
// its keys to both, and a second interrupt would end the command more abruptly than
// requested.
func passOn(signals <-chan os.Signal, p *os.Process, terminal bool, done <-chan struct{}) {
	for {
		select {
		case s := <-signals:
			if terminal && s != syscall.SIGTERM {
				continue
			}
			if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
				fmt.Fprintln(os.Stderr, "redline: forward", s, "to the command:", err)
			}
		case <-done:
			return
		}
	}
}
