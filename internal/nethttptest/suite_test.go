package nethttptest

import (
	"slices"
	"strings"
	"testing"
)

// trials are all there are.
func trials() []trial {
	return slices.Concat(requestTrials, framingTrials, bodyTrials, responseTrials, streamTrials, hijackTrials, connTrials, muxTrials, fileTrials, formTrials, contextTrials, serverTrials)
}

// TestHandlers plays every trial to net/http and to Redline.
func TestHandlers(t *testing.T) {
	names := map[string]bool{}
	for _, tr := range trials() {
		if names[tr.name] {
			t.Errorf("two trials are called %q", tr.name)
		}
		names[tr.name] = true
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			play(t, &tr)
		})
	}
}

// play plays one trial on all engines at the same time.
func play(t *testing.T, tr *trial) {
	engines := append([]engine{netHTTP}, candidates()...)
	outcomes := make([]chan *outcome, len(engines))
	for i, e := range engines {
		outcomes[i] = make(chan *outcome, 1)
		dir := t.TempDir()
		go func() { outcomes[i] <- tr.start(e, dir) }()
	}
	ref := <-outcomes[0]
	if testing.Verbose() {
		t.Logf("%s, net/http:\n%s", tr.name, indent(strings.Join(ref.dump(), "\n")))
	}
	for i, e := range engines[1:] {
		red := <-outcomes[i+1]
		if got, _ := compare(ref.clone(), red); got != strings.TrimLeft(tr.diff, "\n") {
			t.Errorf("%s differs from net/http:\n%s", e.name, indent(got))
			if tr.diff != "" {
				t.Logf("expected:\n%s", indent(tr.diff))
			}
		}
	}
}
