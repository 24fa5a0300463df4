package command

import (
	"context"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/redline-go/redline/lab/profile"
)

// An empty profile says why it is: the process may have ended, or only its children work.
func TestEmptyProfile(t *testing.T) {
	const note = "The processes ended before the window did."
	s := &best{outside: map[profile.Kind]Outside{profile.CPU: func(context.Context, Ask) (*pprof.Profile, []string, error) {
		return &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "cpu", Unit: "nanoseconds"}}}, []string{note}, nil
	}}}
	if _, err := s.Take(t.Context(), profile.CPU, time.Second); err == nil || !strings.Contains(err.Error(), note) || !strings.Contains(err.Error(), "--tree") {
		t.Error(err)
	}
}
