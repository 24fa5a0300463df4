// Command gen writes the page of a generated load run to its standard output, for the browser
// test: gen KIND; with -hostile, full of hostile text.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/redline-go/redline/lab/load/page"
	"github.com/redline-go/redline/lab/load/page/internal/sample"
)

func main() {
	hostile := flag.Bool("hostile", false, "fill the page with hostile text")
	flag.Parse()
	d, err := sample.Run(flag.Arg(0))
	if err == nil {
		if *hostile {
			sample.Spoil(d)
		}
		err = page.Write(os.Stdout, d)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
