package nethttptest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// differencesFile lists what differs from net/http on purpose: it is written for
// readers, and holds the lines that trials expect.
const differencesFile = "../../docs/nethttp-differences.md"

const (
	trialHeading = "#### "
	diffBegin    = "```diff\n"
	diffEnd      = "```\n"
)

// expectations are the differences of trials, by their name, as the file has them.
var expectations = sync.OnceValues(func() (map[string]string, error) {
	b, err := os.ReadFile(differencesFile)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for part := range strings.SplitSeq(string(b), "\n"+trialHeading) {
		name, rest, _ := strings.Cut(part, "\n")
		if _, rest, ok := strings.Cut(rest, diffBegin); ok {
			found[name], _, _ = strings.Cut(rest, diffEnd)
		}
	}
	return found, nil
})

// expected is the difference that is right for a trial that Redline does not refuse:
// none, unless it says so.
func (tr *trial) expected() string {
	name := cmp.Or(tr.plain, tr.name)
	if text, ok := newer[name]; ok {
		return text
	}
	if tr.differs == nil {
		return ""
	}
	found, err := expectations()
	if err != nil {
		return err.Error()
	}
	return found[name]
}

// TestDeliberateDifferences holds the list of differences to the trials. With
// -update it plays those that differ, and writes the list.
func TestDeliberateDifferences(t *testing.T) {
	want, err := expectations()
	if err != nil && !(*update && errors.Is(err, fs.ErrNotExist)) {
		t.Fatal(err)
	}
	if *update && len(newer) > 0 {
		t.Fatalf("write %s with the Go of go.mod: net/http differs in %s", differencesFile, runtime.Version())
	}
	if *update {
		want = observed(t)
	}
	text := listing(t, want)
	have, err := os.ReadFile(differencesFile)
	if err == nil && string(have) == text {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date: go test ./internal/nethttptest -run TestDeliberateDifferences -update", differencesFile)
	}
	if t.Failed() {
		return // nothing wrong is written
	}
	if err := os.WriteFile(differencesFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// observed plays the trials that differ, some at the same time.
func observed(t *testing.T) map[string]string {
	var mu sync.Mutex
	var wg sync.WaitGroup
	found, slots := map[string]string{}, make(chan struct{}, 16)
	for _, tr := range trials() {
		if tr.differs == nil || tr.refuses != "" || tr.plain != "" {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ref := tr.start(netHTTP, t.TempDir())
			for i, e := range tr.candidates() {
				got, _ := compare(ref.clone(), tr.start(e, t.TempDir()))
				mu.Lock()
				if i > 0 && got != found[tr.name] {
					t.Errorf("%s: %s is not like %s:\n%s\n%s", tr.name, e.name, candidates()[0].name, indent(got), indent(found[tr.name]))
				}
				found[tr.name] = got
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return found
}

// listing is the text of the list.
func listing(t *testing.T, diffs map[string]string) string {
	var b strings.Builder
	b.WriteString(`# Where Redline differs from net/http

An ` + "`http.Handler`" + ` behaves the same under Redline as under net/http, and sees the same, except for the
differences listed here. The differential suite, internal/nethttptest, runs several hundred scripts against
both and compares every byte and everything that the handlers see. It checks that this list is complete and
exact for these scripts. ` + "`go test ./internal/nethttptest -run TestDeliberateDifferences -update`" + ` generates the list.

Scripts for HTTP/1.1 are played over TLS as well, each on one transport; what differs over TLS alone says so.
If Serve receives a listener that is none of package net's, it uses the listener's own Accept, on the
transport std only.

## TLS and HTTP/2

- **A listener that speaks TLS itself.** "h2" must not be among its NextProtos, and failed handshakes are not logged.
- **Handshakes are bounded.** With ServeTLS and ListenAndServeTLS, handshakes have a deadline even if no timeout is set (10 s), and a bound on how many run and wait.
- **ConnState after the handshake.** A connection is StateNew when its handshake is complete, not when it is accepted.
- **close_notify alone is not noticed at once.** A client that ends only its direction of TLS, and not its TCP stream, while the handler of its only request runs counts as having left when the response has been sent. net/http reads on meanwhile, and cancels the request's context.
- **Priorities.** Responses are sent by the priorities of RFC 9218. Those without one take turns, as in net/http.
- **Floods.** Frames that achieve nothing are counted across their kinds, and end the connection with ENHANCE_YOUR_CALM.

## In general

`)
	for _, r := range rules {
		if strings.HasPrefix(r.title, prefix2) {
			continue
		}
		fmt.Fprintf(&b, "- **%s.** %s\n", r.title, r.why)
	}
	b.WriteString("\n## In detail\n\nLines with - are net/http's, lines with + are Redline's.\n")
	all := trials()
	for _, r := range reasons {
		writeReason(t, &b, r, all, diffs)
	}
	b.WriteString("\n## HTTP/2\n\nThe same scripts as frames, and scripts of frames. Fields are shown with capitals, and streams in their order.\n\n")
	for _, r := range rules {
		if title, ok := strings.CutPrefix(r.title, prefix2); ok {
			fmt.Fprintf(&b, "- **%s%s.** %s\n", strings.ToUpper(title[:1]), title[1:], r.why)
		}
	}
	for _, r := range reasonsHTTP2 {
		writeReason(t, &b, &r.reason, all, diffs)
	}
	return b.String()
}

// writeReason writes one reason with its trials.
func writeReason(t *testing.T, b *strings.Builder, r *reason, all []trial, diffs map[string]string) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n", r.title, r.why)
	mine := slices.DeleteFunc(slices.Clone(all), func(tr trial) bool { return tr.differs != r || tr.plain != "" })
	if len(mine) == 0 {
		t.Errorf("no trial differs for the reason %q", r.title)
	}
	refused := slices.DeleteFunc(slices.Clone(mine), func(tr trial) bool { return tr.refuses == "" })
	if len(refused) > 0 {
		b.WriteString("\n| trial | answer |\n|---|---|\n")
	}
	for _, tr := range refused {
		fmt.Fprintf(b, "| %s | %s |\n", tr.name, tr.refuses)
	}
	for _, tr := range mine {
		if tr.refuses != "" {
			continue
		}
		if diffs[tr.name] == "" {
			t.Errorf("%s: the list has no difference", tr.name)
		}
		fmt.Fprintf(b, "\n%s%s\n\n", trialHeading, tr.name)
		if tr.send != "" && len(tr.send) < 300 {
			fmt.Fprintf(b, "Sent: `%q`\n\n", tr.send)
		}
		b.WriteString(diffBegin + diffs[tr.name] + diffEnd)
	}
}
