package probe

import (
	"errors"
	"fmt"
)

// ErrNotListening is the error of [SetCongestion] when none of the processes
// listens on the port.
var ErrNotListening = errors.New("none of the processes listens there")

// CongestionError reports a congestion control that could not be set.
type CongestionError struct {
	Port      int
	Algorithm string
	PID       int    // owner of the socket, 0 if no socket was found
	Need      string // what is required, if known
	Err       error
}

func (e *CongestionError) Error() string {
	text := fmt.Sprintf("set congestion control %s on port %d", e.Algorithm, e.Port)
	if e.PID != 0 {
		text += fmt.Sprintf(" of process %d", e.PID)
	}
	text += ": " + e.Err.Error()
	if e.Need != "" {
		text += "; it needs " + e.Need
	}
	return text
}

// Unwrap returns the cause.
func (e *CongestionError) Unwrap() error { return e.Err }
