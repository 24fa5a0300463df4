// Command gen writes the report of the invented results to standard output: HTML for
// the browser tests, or text with -format.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/redline-go/redline/lab/report"
	"github.com/redline-go/redline/lab/report/internal/sample"
	"github.com/redline-go/redline/lab/report/screen"
	"github.com/redline-go/redline/lab/results"
)

func main() {
	format := flag.String("format", "html", "html, terminal, color or markdown")
	flag.Parse()
	if err := write(*format, sample.File()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(format string, f *results.File) error {
	switch format {
	case "html":
		return report.HTML(os.Stdout, f)
	case "terminal":
		return report.Table(os.Stdout, f, report.Terminal, screen.Screen{}, false)
	case "color":
		return report.Table(os.Stdout, f, report.Terminal, screen.Screen{Color: true}, false)
	case "markdown":
		return report.Table(os.Stdout, f, report.Markdown, screen.Screen{}, false)
	}
	return fmt.Errorf("unknown format %q", format)
}
