package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main runs the guard process: it reads the command's lines from r until end of input,
// undoes what is left, and returns the exit code. The code is 1 if something could not be
// undone, which is then reported on standard error.
func Main(r io.Reader) int {
	// The guard must not end before its work is done. SIGPIPE is included because standard
	// error may be a terminal that has gone.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	if _, err := os.Stdout.WriteString(readyLine); err != nil {
		return 1
	}
	return serve(r, os.Stderr)
}

// serve reads orders, and executes them at the end of r.
func serve(r io.Reader, errs io.Writer) (code int) {
	var list []order
	dec := json.NewDecoder(r)
	for {
		var o order
		err := dec.Decode(&o)
		if err == nil && o.Op != opDone {
			list = apply(list, o)
			continue
		}
		// An incomplete line announced something that was not done yet.
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			fmt.Fprintf(errs, "redline guard: read orders: %v\n", err)
			code = 1
		}
		break
	}
	for i := len(list) - 1; i >= 0; i-- {
		if err := list[i].undo(); err != nil {
			fmt.Fprintf(errs, "redline guard: %v\n", err)
			code = 1
		}
	}
	return code
}

func apply(list []order, o order) []order {
	switch o.Op {
	case opAdd:
		return append(list, o)
	case opRemove:
		for i := range list {
			if list[i].ID == o.ID {
				return append(list[:i], list[i+1:]...)
			}
		}
	}
	return list
}
