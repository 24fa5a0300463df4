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

// Main is the guarding process: it reads the command's lines from r until they
// end, then undoes what is left, and returns the exit code: 1 when something
// could not be undone, which standard error then names.
func Main(r io.Reader) int {
	// A guard leaves when its work is done and not before. SIGPIPE is among them
	// because standard error may lead to a terminal that is gone.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	if _, err := os.Stdout.WriteString(readyLine); err != nil {
		return 1
	}
	return serve(r, os.Stderr)
}

// serve reads orders and carries them out at the end of r.
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
		// A line that was cut off announced something that was not yet done.
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
