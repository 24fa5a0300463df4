package nethttptest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// trials are all there are.
func trials() []trial {
	return slices.Concat(requestTrials, framingTrials, bodyTrials, responseTrials, streamTrials, hijackTrials, connTrials, muxTrials, fileTrials, formTrials, contextTrials, serverTrials, stateTrials, translatedTrials(), frameTrials(), secureTrials())
}

// TestHandlers plays every trial to net/http and to Redline.
func TestHandlers(t *testing.T) {
	names := map[string]bool{}
	var used usage
	t.Cleanup(func() {
		for _, r := range rules {
			if used.trials == len(names) && !used.rules[r] {
				t.Errorf("no trial needs the rule %q", r.title)
			}
		}
	})
	for _, tr := range trials() {
		if names[tr.name] {
			t.Errorf("two trials are called %q", tr.name)
		}
		names[tr.name] = true
		if tr.refuses != "" && tr.differs == nil {
			t.Errorf("%s: refuses for no reason", tr.name)
		}
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			used.note(play(t, &tr))
		})
	}
}

// usage is which rules trials needed.
type usage struct {
	mu     sync.Mutex
	trials int
	rules  map[*rule]bool
}

func (u *usage) note(applied []*rule) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.trials++
	if u.rules == nil {
		u.rules = map[*rule]bool{}
	}
	for _, r := range applied {
		u.rules[r] = true
	}
}

// play plays one trial and returns the rules that it needed. One that fails when the
// machine was too slow for it is played again, with longer timeouts where it depends
// on short ones: what is wrong is so however long it takes.
func play(t *testing.T, tr *trial) []*rule {
	again, end := *tr, time.Now().Add(2*patience)
	again.short = soon
	for {
		needed, who, timed, slow := again.once(t)
		if len(who) > 0 && timed && again.short < longest {
			t.Logf("with timeouts of %v: %v", again.short, who)
			again.short *= 4
			continue
		}
		if len(who) > 0 && slow && time.Now().Before(end) {
			t.Logf("clients were slow: %v", who)
			continue
		}
		for got, names := range who {
			t.Errorf("%s: %s, net/http - and Redline +:\n%s", tr.name, strings.Join(names, ", "), indent(got))
			if tr.differs != nil {
				t.Logf("expected:\n%s", indent(tr.refuses+tr.expected()))
			}
		}
		return needed
	}
}

// once plays a trial on all engines at the same time. It returns the rules that it
// needed, who shows which difference that is not right, and whether any outcome
// depends on a short timeout, or on clients that were slow.
func (tr *trial) once(t *testing.T) (needed []*rule, who map[string][]string, timed, slow bool) {
	engines := append([]engine{netHTTP}, tr.candidates()...)
	outcomes := make([]chan *outcome, len(engines))
	for i, e := range engines {
		outcomes[i] = make(chan *outcome, 1)
		dir := t.TempDir()
		go func() { outcomes[i] <- tr.start(e, dir) }()
	}
	ref := <-outcomes[0]
	timed, slow = ref.timed, ref.slow
	if tr.http2 && ref.failed != "" {
		t.Fatalf("%s: %s", tr.name, ref.failed)
	}
	if testing.Verbose() {
		t.Logf("%s, net/http:\n%s", tr.name, indent(strings.Join(ref.dump(), "\n")))
	}
	who = map[string][]string{}
	for i, e := range engines[1:] {
		red := <-outcomes[i+1]
		timed, slow = timed || red.timed, slow || red.slow
		got, applied := compare(ref.clone(), red)
		needed = append(needed, applied...)
		switch {
		case tr.refuses != "":
			if want := tr.refusal(); got == "" || diff(want, red.dump()) != "" {
				who[got] = append(who[got], e.name)
			}
		case got != tr.expected():
			who[got] = append(who[got], e.name)
		}
	}
	return needed, who, timed, slow
}

// candidates are the engines that a trial is for.
func (tr *trial) candidates() []engine {
	all := slices.DeleteFunc(slices.Clone(candidates()), func(e engine) bool {
		return tr.noPath && e.name == mounted || tr.foreign && e.name != string(takesAll)
	})
	if tr.secure {
		i := tr.turn % len(all)
		return all[i : i+1]
	}
	return all
}

// refusal is the outcome of a trial that Redline refuses: the handler is not
// called.
func (tr *trial) refusal() []string {
	status, words, _ := strings.Cut(tr.refuses, " ")
	code, err := strconv.Atoi(status)
	if err != nil {
		panic(err)
	}
	phrase := http.StatusText(code)
	if code == http.StatusRequestURITooLong {
		phrase = "URI Too Long" // RFC 9110, 15.5.15
	}
	return []string{
		fmt.Sprintf("answer 1: HTTP/1.1 %d %s", code, phrase), "answer 1: " + closing, fmt.Sprintf("answer 1: Content-Length: %d", len(words)+1),
		"answer 1: Content-Type: text/plain; charset=utf-8", "answer 1: Date: now", fmt.Sprintf("answer 1: body %q", words+"\n"),
		"fate: closed", "state: new active closed",
	}
}
