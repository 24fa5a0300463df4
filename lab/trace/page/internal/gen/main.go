// Command gen writes the page of a generated trace to its standard output, for the browser test:
// gen KIND, which is usual, nothing, many or hostile.
package main

import (
	"fmt"
	"os"

	"github.com/redline-go/redline/lab/trace/page"
	"github.com/redline-go/redline/lab/trace/page/internal/sample"
)

func main() {
	kind := ""
	if len(os.Args) > 1 {
		kind = os.Args[1]
	}
	r, err := sample.Report(kind)
	if err == nil {
		err = page.Write(os.Stdout, r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
