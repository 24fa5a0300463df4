package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/redline-go/redline/lab/cli"
	"github.com/redline-go/redline/lab/internal/file"
	"github.com/redline-go/redline/lab/load/present"
	"github.com/redline-go/redline/lab/report"
)

// newPlot returns the command that draws the latencies of several load runs in one picture.
func newPlot() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "plot [LABEL=]RUN.json...",
		Short: "Draw the latencies of load runs by percentile, as a picture",
		Long: `Draw the latencies of load runs by percentile, as a picture (SVG).

RUN.json is a file written by redline load --json. In an open loop, latency is the
response time, measured from when a request was due.`,
		Example: `  redline load -c 64 --json closed.json http://127.0.0.1:8080/
  redline load -c 64 -r 1000 --json open.json http://127.0.0.1:8080/
  redline plot --out latency.svg 'closed loop=closed.json' 'open loop=open.json'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage("name at least one run, such as redline plot run.json")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if ext := filepath.Ext(out); slices.Contains(otherPictures, strings.ToLower(ext)) {
				return cli.Usage("--out %s: the picture is SVG, not %s: write %s.svg", out, ext[1:], strings.TrimSuffix(out, ext))
			}
			var curves []report.Plotted
			for _, arg := range args {
				label, path, labelled := strings.Cut(arg, "=")
				if !labelled {
					label, path = strings.TrimSuffix(arg, ".json"), arg
				}
				d, err := present.Load(path)
				if err := errors.Join(err, cli.CheckOutput("out", out, path)); err != nil {
					return err
				}
				curves = append(curves, report.Plotted{Label: label, Latency: d.Latency})
			}
			var picture bytes.Buffer
			if err := report.Plot(&picture, curves); err != nil {
				return err
			}
			if out == "-" {
				_, err := picture.WriteTo(c.OutOrStdout())
				return err
			}
			if err := file.Write(out, picture.Bytes()); err != nil {
				return fmt.Errorf("write the picture: %w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "-", "`FILE` for the picture; - is standard output")
	return c
}

// otherPictures are file extensions of other picture formats.
var otherPictures = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".html"}
