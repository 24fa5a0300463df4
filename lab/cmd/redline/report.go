package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/load/page"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/results"
)

// newReport returns the command that renders a results file, or a load run, again.
func newReport() *cobra.Command {
	var markdown, gates bool
	var html, percentiles string
	c := &cobra.Command{
		Use:   "report FILE.json",
		Short: "Render the results of a comparison or of a load as text or as a page",
		Long: `Render the results of a comparison or of a load as text or as a page.

FILE.json is the results.json of redline bench, the directory that holds it, or a
file written by redline load --json. The text is the table of a comparison, or the
summary of a load.`,
		Example: `  redline report --markdown results/latest
  redline load --json run.json http://127.0.0.1:8080/
  redline report --html run.html run.json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usage("name one results file, or its directory; see redline report --help")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			path := args[0]
			percents, err := percentilesOf(c, percentiles)
			if err != nil {
				return err
			}
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				path = filepath.Join(path, resultsName)
			}
			if err := cli.CheckOutput("html", html, path); err != nil {
				return err
			}
			f, err := results.Load(path)
			var other *results.SchemaError
			switch {
			case errors.As(err, &other) && other.Schema == present.SchemaName:
				return reportLoad(c, path, html, markdown, percents)
			case err != nil:
				return err
			case len(percents) > 0:
				return cli.Usage("--percentiles is for a load, and %s is a comparison: leave it out", path)
			case html != "":
				return cli.WritePage(html, func(w io.Writer) error { return report.HTML(w, f) })
			}
			format := report.Terminal
			if markdown {
				format = report.Markdown
			}
			return report.Table(c.OutOrStdout(), f, format, cli.ScreenOf(c, c.OutOrStdout()), gates)
		},
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "print the table as Markdown")
	c.Flags().BoolVar(&gates, "gates", false, "of a comparison: print the gates that runs failed")
	c.Flags().StringVar(&percentiles, "percentiles", "", "of a load: `LIST` of those that tables show, as 50,75,95,99.95 (default: those of the run)")
	c.Flags().StringVar(&html, "html", "", "write the page to this `FILE` instead of printing the text")
	return c
}

// percentilesOf reads the flag --percentiles; none: it is not there.
func percentilesOf(c *cobra.Command, list string) ([]float64, error) {
	if !c.Flags().Changed("percentiles") {
		return nil, nil
	}
	percents, err := results.ParsePercentiles(list)
	if err != nil {
		return nil, cli.Usage("--percentiles: %v", err)
	}
	return percents, nil
}

// reportLoad renders a file written by redline load --json.
func reportLoad(c *cobra.Command, path, html string, markdown bool, percents []float64) error {
	if markdown {
		return cli.Usage("--markdown is for the table of a comparison, but %s is a load: leave it out, or write a page with --html", path)
	}
	d, err := present.Load(path)
	if err != nil {
		return err
	}
	d.ChoosePercents(percents)
	if html != "" {
		return cli.WritePage(html, func(w io.Writer) error { return page.Write(w, d) })
	}
	return present.Summary(c.OutOrStdout(), d, cli.ScreenOf(c, c.OutOrStdout()))
}
