package page

import (
	"io"

	"github.com/redline-go/redline/lab/trace"
)

func Write(w io.Writer, r *trace.Report) error { return nil }
