package scenario

import (
	"strings"
	"testing"
)

// rehearsed returns the requests of a user that makes each once; answers have a status.
func rehearsed(t *testing.T, p *Plan, status map[string]int) string {
	t.Helper()
	u := p.Rehearse(1)
	var asked []string
	for range 20 {
		target, ok := u.Next()
		if !ok {
			return strings.Join(asked, " ")
		}
		asked = append(asked, target.Name())
		code, ok := status[target.Name()]
		if !ok {
			code = 200
		}
		u.Answer(target, code, nil, []byte("x"))
	}
	t.Fatalf("no end: %q", asked)
	return ""
}

func TestRehearse(t *testing.T) {
	p := compiled(t, `
setup: [{name: login, url: /, captures: {a: {regexp: x}}}]
flows: [{name: f, weight: 100, steps: [{name: one, url: /}, {name: two, url: /}]}]
targets: [{name: rare, url: /, weight: 0.001}, {name: b, url: /}]
`)
	if got := rehearsed(t, p, nil); got != "setup/login rare b f/one f/two" {
		t.Error(got)
	}
	if got := rehearsed(t, p, map[string]int{"rare": 500, "f/one": 500}); got != "setup/login rare b f/one f/two" {
		t.Error(got)
	}
	p = compiled(t, "setup: [{name: login, url: /, captures: {a: {regexp: y}}}]\ntargets: [{name: b, url: /}]\n")
	if got := rehearsed(t, p, nil); got != "setup/login" {
		t.Errorf("after a setup that fails: %s", got)
	}
}
