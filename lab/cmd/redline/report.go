package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// newReport renders a results file again.
func newReport() *cobra.Command {
	var markdown bool
	var html string
	c := &cobra.Command{
		Use:   "report RESULTS.json",
		Short: "Render the results of a comparison as a table or a page",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage("name one results file, or the directory that holds it; see redline report --help")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			path := args[0]
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				path = filepath.Join(path, resultsName)
			}
			f, err := results.Load(path)
			if err != nil {
				return err
			}
			if html != "" {
				return cli.WritePage(html, f)
			}
			return printTable(c.OutOrStdout(), f, markdown)
		},
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "print the table as Markdown")
	c.Flags().StringVar(&html, "html", "", "write the page to this `FILE` instead of printing the table")
	return c
}

func printTable(w io.Writer, f *results.File, markdown bool) error {
	format := report.Terminal
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		format = report.TerminalColor
	}
	if markdown {
		format = report.Markdown
	}
	return report.Table(w, f, format)
}
