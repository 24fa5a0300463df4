package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/profile/command"
)

// newProfile returns the command that profiles a server process.
func newProfile() *cobra.Command {
	var target command.Target
	var view command.View
	c := &cobra.Command{
		Use:   "profile [flags] [FILE ... | -- COMMAND ...]",
		Short: "Profile a server, with the cost of each request, and draw flame graphs",
		Long: `Profile a server, with the cost of each request, and draw flame graphs.

The process is named by --pid, --control or --pprof, or started: COMMAND ends with
the profile. With --load the server is loaded meanwhile, the window of the profile is
that of the load, and values for each request stand beside the totals. Files with
profiles of other tools are shown too. docs/profile.md explains the outputs.

Exit codes: 0 success, 1 a profile could not be taken or read, 2 wrong usage, 130
interrupted.`,
		Example: `  redline profile --pprof http://127.0.0.1:6060 --load http://127.0.0.1:8080/ --html cpu.html
  redline profile --pprof http://127.0.0.1:6060 --kind cpu,allocs --for 30s --pprof-out now.pprof
  redline profile --control /run/shop/control --list 'main.*order'
  redline profile --diff before.pprof after.pprof --html diff.html`,
		RunE: func(c *cobra.Command, args []string) error {
			var files []string
			if files, target.Command = split(c, args); len(files) > 0 && len(target.Command) > 0 {
				return cli.Usage("%s: profiles are read from files, or a command is started: use one of the two", files[0])
			}
			return command.Run(c.Context(), target, view, files, consoleOf(c))
		},
	}
	f := c.Flags()
	target.Bind(f, "cpu", 10*time.Second)
	view.Bind(f)
	target.BindLoad(f)
	c.SetHelpFunc(cli.Help(target.Groups(cli.Group{Title: "Output", Flags: "top cum calls list disasm source binary html pprof-out speedscope collapsed diff"})))
	return c
}

// split returns the arguments before and after --.
func split(c *cobra.Command, args []string) (before, after []string) {
	if at := c.ArgsLenAtDash(); at >= 0 {
		return args[:at], args[at:]
	}
	return args, nil
}

// consoleOf returns where a verb writes.
func consoleOf(c *cobra.Command) command.Console {
	return command.Console{Out: c.OutOrStdout(), Err: c.ErrOrStderr(), OutScreen: cli.ScreenOf(c, c.OutOrStdout()), ErrScreen: cli.ScreenOf(c, c.ErrOrStderr())}
}
