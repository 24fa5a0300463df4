package scenario

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const shop = `
defaults:
  headers: {Accept: text/plain, Authorization: "Bearer ${token}"}
variables:
  account: {csv: a.csv, per: user}
  order: {counter: 100}
setup:
- {name: hello, url: /}
- name: login
  method: POST
  url: /login
  body: {json: {user: "${account.name}"}}
  captures: {token: {json: $.token}}
flows:
- name: shopping
  steps:
  - {name: cart, method: POST, url: /carts, captures: {cart: {header: X-Cart}, token: {json: $.fresh, default: kept}}}
  - {name: add, method: PUT, url: "/carts/${cart}/${order}", body: "1", headers: {Accept: ~}}
  - {name: pay, method: POST, url: "/carts/${cart}/${order}/pay", checks: [{body: {contains: paid}}]}
`

func TestFlow(t *testing.T) {
	p := compiled(t, shop, "a.csv", "name,pw\nann,1\nbob,2\n")
	if !p.Sequential() {
		t.Error("a plan with flows is not sequential")
	}
	u := p.User(1, 1, 2)
	step := func(name, uri, token string, status int, head, body, failed string) {
		t.Helper()
		target, text := ask(t, u)
		r, _ := parse(t, text)
		if target.Name() != name || r.RequestURI != uri || r.Header.Get("Authorization") != token {
			t.Fatalf("%s %s %q, want %s %s %q", target.Name(), r.RequestURI, r.Header["Authorization"], name, uri, token)
		}
		if target.Setup() != strings.HasPrefix(name, "setup/") {
			t.Errorf("%s: setup %v", name, target.Setup())
		}
		if (r.Header.Get("Accept") == "") != (name == "shopping/add") {
			t.Errorf("%s: Accept %q", name, r.Header.Get("Accept"))
		}
		if _, ok := u.Next(); ok {
			t.Fatalf("%s: the next request did not wait for the answer", name)
		}
		if got := u.Answer(target, status, []byte(head), []byte(body)); got != failed {
			t.Fatalf("%s: failed %q, want %q", name, got, failed)
		}
	}
	// A login without a token is repeated, from the start of setup.
	step("setup/hello", "/", "", 200, "", "", "")
	step("setup/login", "/login", "", 401, "", "no", "status 2xx, 3xx")
	step("setup/hello", "/", "", 500, "", "", "status 2xx, 3xx")
	step("setup/login", "/login", "", 200, "", `{"token":"t1"}`, "")
	// A flow: the order's number is the same in all its steps, and belongs to user 1.
	step("shopping/cart", "/carts", "Bearer t1", 201, "X-Cart: c1\r\n", `{"fresh":"t2"}`, "")
	step("shopping/add", "/carts/c1/101", "Bearer t2", 500, "", "", "status 2xx, 3xx")
	step("shopping/pay", "/carts/c1/101/pay", "Bearer t2", 200, "", "refused", `body contains "paid"`)
	// A capture that fails ends the iteration.
	step("shopping/cart", "/carts", "Bearer t2", 201, "", "", "capture cart")
	step("shopping/cart", "/carts", "Bearer t2", 201, "X-Cart: c2\r\n", "", "")
	step("shopping/add", "/carts/c2/103", "Bearer kept", 200, "", "", "")
	// So does a lost connection.
	if target, ok := u.Next(); !ok || target.Name() != "shopping/pay" {
		t.Fatal("no pay")
	}
	u.Abort()
	step("shopping/cart", "/carts", "Bearer kept", 201, "X-Cart: c3\r\n", "", "")
	step("shopping/add", "/carts/c3/105", "Bearer kept", 200, "", "", "")
}

func TestSetupAborted(t *testing.T) {
	u := compiled(t, "setup: [{name: a, url: /a}]\ntargets: [{name: b, url: /b}]\n").User(1, 0, 1)
	for range 3 {
		if target, ok := u.Next(); !ok || target.Name() != "setup/a" {
			t.Fatal("setup was skipped")
		}
		u.Abort()
	}
	target, _ := ask(t, u)
	u.Answer(target, 200, nil, nil)
	for range 3 { // independent targets need no answer
		if target, ok := u.Next(); !ok || target.Name() != "b" {
			t.Fatal("no b")
		}
	}
}

// The same seed and id produce the same requests, another id different ones.
func TestDeterminism(t *testing.T) {
	p := compiled(t, `
variables: {i: {int: [0, 1000000]}, u: {uuid: v4}, s: {string: 8}, c: {choice: [a, b, c]}, r: {csv: {file: r.csv, order: random}}}
targets:
- {name: x, url: "/${i}/${u}/${s}/${c}/${r.n}", weight: 3, think: "exponential:1s"}
- {name: y, url: "/y"}
`, "r.csv", "n\n1\n2\n3\n")
	run := func(seed uint64, id int) string {
		u := p.User(seed, id, 4)
		var b strings.Builder
		for range 50 {
			target, text := ask(t, u)
			fmt.Fprint(&b, text, u.Think(target))
		}
		return b.String()
	}
	first := run(1, 0)
	if run(1, 0) != first {
		t.Error("the same seed, other requests")
	}
	if run(2, 0) == first || run(1, 1) == first {
		t.Error("another seed or user, the same requests")
	}
}

func TestWeights(t *testing.T) {
	const n = 200_000
	weights := []float64{1, 0.5, 7, 1e-9, 2, 2, 30}
	var text strings.Builder
	text.WriteString("targets:\n")
	var sum float64
	for i, w := range weights {
		fmt.Fprintf(&text, "- {url: /%d, weight: %g}\n", i, w)
		sum += w
	}
	p := compiled(t, text.String())
	counts := make([]float64, len(weights))
	u := p.User(1, 0, 1)
	for range n {
		target, _ := u.Next()
		counts[target.Index()]++
	}
	for i, w := range weights {
		share := w / sum
		// Five standard deviations of the binomial; the seed is fixed.
		if d := math.Abs(counts[i] - n*share); d > 5*math.Sqrt(n*share*(1-share))+1e-3 {
			t.Errorf("target %d: %v of %d, want %v", i, counts[i], n, n*share)
		}
	}
	// The table itself, exactly: the share of each entry over all columns.
	for _, weights := range [][]float64{{1}, {1, 1}, {1, 2, 3}, {math.MaxFloat64, math.MaxFloat64 / 2}, {5e-324, 1}} {
		got := make([]float64, len(weights))
		for i, a := range newAlias(weights) {
			got[i] += math.Min(a.keep, 1)
			got[a.other] += 1 - math.Min(a.keep, 1)
		}
		most, sum := 0.0, 0.0
		for _, w := range weights {
			most = math.Max(most, w)
		}
		for _, w := range weights {
			sum += w / most
		}
		for i, w := range weights {
			if want := w / most / sum * float64(len(weights)); math.Abs(got[i]-want) > 1e-9 {
				t.Errorf("%v: entry %d gets %v, want %v", weights, i, got[i], want)
			}
		}
	}
}

// Counters and rows are divided among the users.
func TestTurns(t *testing.T) {
	p := compiled(t, "variables: {n: {counter: {start: 10, step: -2}}, r: {csv: r.csv}}\ntargets:\n- url: /${n}/${r.v}\n", "r.csv", "v\na\nb\nc\nd\ne\n")
	got := map[string]bool{}
	const users, each = 3, 5
	for id := range users {
		u := p.User(9, id, users)
		for k := range each {
			_, text := ask(t, u)
			r, _ := parse(t, text)
			turn := id + k*users
			if want := fmt.Sprintf("/%d/%c", 10-2*turn, 'a'+turn%5); r.URL.Path != want {
				t.Errorf("user %d, request %d: %s, want %s", id, k, r.URL.Path, want)
			}
			got[r.URL.Path] = true
		}
	}
	if len(got) != users*each {
		t.Errorf("%d different of %d", len(got), users*each)
	}
}

func TestValues(t *testing.T) {
	p := compiled(t, `
variables:
  i: {int: {min: -2, max: 2}}
  wide: {int: [-9223372036854775808, 9223372036854775807]}
  u: {uuid: v4}
  s: {string: {length: 5, alphabet: aé}}
  c: {choice: [1, two, true]}
  k: {value: fixed}
  p: {int: [1, 1000000000], per: request}
  q: {int: [1, 1000000000], per: user}
targets:
- {method: PUT, url: /, body: "${i},${wide},${u},${s},${c},${k},${p}${p|json},${q},${vu},${iteration}"}
`)
	u := p.User(3, 4, 5)
	form := regexp.MustCompile(`^(-[12]|[012]),(-?\d+),([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}),([aé]{5}),(1|two|true),fixed,(\d+),(\d+),4,(\d+)$`)
	seen := make([]map[string]bool, 9)
	for i := range seen {
		seen[i] = map[string]bool{}
	}
	for i := range 500 {
		_, text := ask(t, u)
		_, body := parse(t, text)
		m := form.FindStringSubmatch(body)
		if m == nil {
			t.Fatal(body)
		}
		if half := len(m[6]) / 2; m[6][:half] != m[6][half:] {
			t.Fatalf("two values in one request: %s", m[6])
		}
		if m[8] != strconv.Itoa(i) {
			t.Fatalf("iteration %s, want %d", m[8], i)
		}
		for k := range seen {
			seen[k][m[k]] = true
		}
	}
	for group, want := range map[int]int{1: 5, 3: 500, 4: 32, 5: 3, 7: 1} {
		if len(seen[group]) != want {
			t.Errorf("group %d: %d values, want %d", group, len(seen[group]), want)
		}
	}
}

func TestThink(t *testing.T) {
	o := options("t.txt", "7s\n")
	if err := o.Think.Set("5s"); err != nil {
		t.Fatal(err)
	}
	text := "order: sequence\ntargets: [{name: a, url: /}, {name: b, url: /, think: 1s}, {name: c, url: /, think: file:t.txt}, {name: d, url: /, think: 0s}]\n"
	for defaults, want := range map[string][]time.Duration{"": {5, 1, 7, 0}, "defaults: {think: 2s}\n": {2, 1, 7, 0}} {
		p, err := Parse("s.yaml", []byte(defaults+text), o)
		if err != nil {
			t.Fatal(err)
		}
		u := p.User(1, 0, 1)
		for i := range want {
			target, _ := u.Next()
			if got := u.Think(target); got != want[i]*time.Second {
				t.Errorf("%q, target %d: %v", defaults, i, got)
			}
		}
	}
}

func TestView(t *testing.T) {
	p := compiled(t, `
order: sequence
variables: {n: {counter: 1}}
targets:
- {name: static, method: PUT, url: "https://h:2/a?b", headers: {A: [b, c], Connection: close, TE: trailers}, body: {text: x, chunked: true}}
- {name: dynamic, method: PUT, url: "/${n}", headers: {A: "v${n}", Host: other, B: c}, body: {json: {n: "${n|raw}"}}}
- {name: long, method: PUT, url: /, body: {size: 100KB}}
`)
	u := p.User(1, 0, 1)
	var v View
	for range 2 {
		var got []string
		for range 3 {
			target, _ := u.Next()
			u.View(&v, target)
			s := fmt.Sprintf("%s %s %s %s", v.Method, v.Scheme, v.Authority, v.Path)
			for _, f := range v.Fields {
				s += fmt.Sprintf(" %s=%s", f.Name, f.Value)
			}
			got = append(got, s+" "+string(v.Body))
		}
		n := 1 + u.now[iteration]/6
		want := []string{
			"PUT https h:2 /a?b a=b a=c x",
			fmt.Sprintf("PUT http other /%d a=v%d b=c content-type=application/json {\"n\":%d}", n, n, n),
			"PUT http h:1 / ",
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("got %q\nwant %q", got[i], want[i])
			}
		}
	}
}

func TestWire(t *testing.T) {
	p := compiled(t, "order: sequence\ntargets:\n- {name: a, url: '?q', headers: {B: 1.10}}\n- {name: b, method: post, url: 'http://h2', body: x}\n- {name: c, url: '/${vu}'}\n")
	for i, want := range []string{"GET /?q HTTP/1.1\r\nHost: h:1\r\nB: 1.10\r\n\r\n", "post / HTTP/1.1\r\nHost: h2\r\nContent-Length: 1\r\n\r\nx", "GET /0 HTTP/1.1\r\nHost: h:1\r\n\r\n"} {
		target := p.Targets()[i]
		u := p.User(1, 0, 1)
		if got := u.Append([]byte("+"), target); string(got) != "+"+want {
			t.Errorf("%q, want %q", got, want)
		}
		if static := target.Wire() != nil; static != (i < 2) || static && !bytes.Equal(target.Wire(), []byte(want)) {
			t.Errorf("%q: wire %q", want, target.Wire())
		}
	}
	if _, ok := p.Constant(); ok || p.Sequential() {
		t.Error("three targets are constant, or sequential")
	}
	if p.Origins()[1] != (Origin{"http", "h2:80"}) || p.Targets()[1].Origin() != 1 {
		t.Errorf("%v", p.Origins())
	}
}

// One plan is used by users on many goroutines, for the race detector.
func TestConcurrentUsers(t *testing.T) {
	p := compiled(t, "variables: {u: {uuid: v4}, j: {jwt: {algorithm: ES256, key_file: k, claims: {a: '${u}'}}}}\n"+
		"flows:\n- name: f\n  steps:\n  - {name: a, url: '/${j}', checks: [{body: {matches: 'p.*d'}}], captures: {v: {regexp: 'pa(.)'}}}\n  - {name: b, method: PUT, url: '/${v}', body: {size: 100KB}}\n",
		"k", string(pemOf(t, p256)))
	var all sync.WaitGroup
	for id := range 4 {
		all.Go(func() {
			u := p.User(1, id, 4)
			for range 20 {
				target, ok := u.Next()
				if !ok {
					t.Error("the user waits")
					return
				}
				buf := u.Append(nil, target)
				if s := target.Stream(); s != nil {
					if _, err := s.AppendAt(buf, 0, 1000); err != nil {
						t.Error(err)
					}
				}
				if failed := u.Answer(target, 200, nil, []byte("paid")); failed != "" {
					t.Error(failed)
				}
			}
		})
	}
	all.Wait()
}

func TestUserOfNone(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("user 1 of 1")
		}
	}()
	compiled(t, "targets: [{url: /}]\n").User(1, 1, 1)
}

// In sequence all users together request the targets in turn, and each user requests all
// of them.
func TestSequence(t *testing.T) {
	for n := 1; n <= 8; n++ {
		for of := 1; of <= 8; of++ {
			var text strings.Builder
			text.WriteString("order: sequence\nsetup: [{url: /}]\ntargets:\n")
			for i := range n {
				fmt.Fprintf(&text, "- {name: %d, url: /}\n", i)
			}
			p := compiled(t, text.String())
			all, own := make([]int, n), make([][]int, of)
			var first []int
			users := make([]*User, of)
			for id := range users {
				users[id], own[id] = p.User(1, id, of), make([]int, n)
				target, _ := users[id].Next()
				users[id].Answer(target, 200, nil, nil)
			}
			for range n {
				for id, u := range users {
					target, _ := u.Next()
					i := target.Index() - 1
					all[i]++
					own[id][i]++
					first = append(first, i)
					if low, high := slices.Min(all), slices.Max(all); high-low > 1 {
						t.Fatalf("%d targets, %d users: %v times", n, of, all)
					}
				}
			}
			for i, target := range first[:min(n, of)] {
				if target != i {
					t.Errorf("%d targets, %d users: they begin with %v", n, of, first)
				}
			}
			for id := range own {
				if slices.Max(own[id]) != 1 {
					t.Errorf("%d targets, %d users: user %d asked %v times", n, of, id, own[id])
				}
			}
		}
	}
}
