// Command gen writes the page of an invented watch to its standard output, for the browser test:
// gen KIND, which is usual, nothing, long or hostile.
package main

import (
	"fmt"
	"os"

	"github.com/redline-go/redline/lab/watch/page/internal/sample"
)

func main() {
	kind := ""
	if len(os.Args) > 1 {
		kind = os.Args[1]
	}
	if err := sample.Write(os.Stdout, kind); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
