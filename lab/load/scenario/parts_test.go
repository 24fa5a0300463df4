package scenario

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

const side = `
defaults: {tags: {team: shop}, think: 1s}
setup: [{name: login, url: /login}]
scenarios:
  - name: browse
    weight: 3
    think: 2s
    tags: {kind: read}
    targets: [{name: home, url: /}, {name: item, url: /item, tags: {kind: heavy, team: search}}]
  - name: buy
    flows: [{name: checkout, tags: {kind: write}, steps: [{name: cart, url: /cart}, {name: pay, url: /pay, tags: {team: pay}, think: 3s}]}]
`

// The defaults apply to what a scenario does not set; the nearest setting is used.
func TestScenariosBesideEachOther(t *testing.T) {
	p := compiled(t, side)
	var got []string
	for _, target := range p.Targets() {
		got = append(got, fmt.Sprintf("%s%v%d%v%v", target.Name(), target.Tags(), target.Flow(), target.Last(), p.User(1, 0, 1).Think(target)))
	}
	if want := []string{
		"setup/login[{team shop}]-1false1s", "browse/home[{kind read} {scenario browse} {team shop}]-1false2s",
		"browse/item[{kind heavy} {scenario browse} {team search}]-1false2s",
		"buy/checkout/cart[{kind write} {scenario buy} {team shop}]0false1s", "buy/checkout/pay[{kind write} {scenario buy} {team pay}]0true3s",
	}; !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if !slices.Equal(p.Flows(), []string{"buy/checkout"}) {
		t.Errorf("flows %q", p.Flows())
	}
}

// A user plays one scenario, and each has its share of any number of users.
func TestUsersOfScenarios(t *testing.T) {
	p := compiled(t, side)
	counts := map[string]int{}
	for id := range 400 {
		u := p.User(7, id, 400)
		seen := map[string]bool{}
		for range 20 {
			target, ok := u.Next()
			if !ok {
				t.Fatal("the user waits")
			}
			u.Answer(target, 200, nil, nil)
			if !target.Setup() {
				seen[target.Tags()[1].Value] = true
			}
		}
		if len(seen) != 1 {
			t.Fatalf("user %d plays %v", id, seen)
		}
		for name := range seen {
			counts[name]++
		}
		if off := math.Abs(float64(counts["browse"]) - 0.75*float64(id+1)); off > 1 {
			t.Errorf("of %d users %v", id+1, counts)
		}
	}
	var names []string
	for u := p.Rehearse(1); ; {
		target, ok := u.Next()
		if !ok {
			break
		}
		names = append(names, target.Name())
		u.Answer(target, 200, nil, nil)
	}
	if got := strings.Join(names, " "); got != "setup/login browse/home browse/item buy/checkout/cart buy/checkout/pay" {
		t.Errorf("the rehearsal has %s", got)
	}
}

// Shares are right for any weights, each to within one user.
func TestDeal(t *testing.T) {
	for _, weights := range [][]float64{{1}, {1, 1, 1}, {90, 9, 1}, {1e300, 1e300}, {0.5, 0.3, 0.2}} {
		var p Plan
		p.finish(weights)
		counts := make([]float64, len(weights))
		for id := range 1000 {
			counts[p.deal.group(id)]++
		}
		for i, share := range p.deal.share {
			if math.Abs(counts[i]-1000*share) > 1 {
				t.Errorf("%v: %v of 1000 users", weights, counts)
			}
		}
	}
}

// A user is within a flow from its first request to its last answer.
func TestWithin(t *testing.T) {
	u := compiled(t, "flows: [{name: f, steps: [{url: /a}, {url: /b, captures: {x: {json: $.x}}}, {url: '/c/${x}'}]}]\n").User(1, 0, 1)
	within := func(want int, when string) {
		t.Helper()
		if got := u.Within(); got != want {
			t.Errorf("%s: %d, want %d", when, got, want)
		}
	}
	within(-1, "at the start")
	target, _ := u.Next()
	within(0, "after a request")
	u.Answer(target, 200, nil, nil)
	within(0, "between two steps")
	target, _ = u.Next()
	u.Answer(target, 200, nil, []byte("{}"))
	within(-1, "after a capture that failed")
	u.Next()
	u.Abort()
	within(-1, "after a lost answer")
}
