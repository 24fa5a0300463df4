package request

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/redline-go/redline/lab/load/spec"
)

// shop is a scenario that uses every part of the format.
const shop = `
variables:
  account: {counter: {start: 1}, per: user}
defaults:
  headers: {Authorization: "Bearer ${token}"}
setup:
  - name: login
    method: POST
    url: /login
    body: "${account}"
    captures: {token: {json: $.token}}
flows:
  - name: buy
    weight: 2
    steps:
      - {name: cart, method: POST, url: /carts, captures: {cart: {header: X-Cart}}}
      - {name: pay, method: POST, url: "/carts/${cart}", checks: [{name: paid, body: {equals: paid}}]}
targets:
  - {name: home, url: /, weight: 3}
  - {name: head, method: HEAD, url: /head, weight: 1}
`

// keeper is the server of shop. One payment in three is refused.
type keeper struct {
	mu       sync.Mutex
	seen     map[string]uint64
	accounts map[string]int
	carts    map[string]string // by cart, who it belongs to
	wrong    []string
}

func newKeeper() *keeper {
	return &keeper{seen: map[string]uint64{}, accounts: map[string]int{}, carts: map[string]string{}}
}

func (k *keeper) answer(a asked) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a.path != "/login" && !strings.HasPrefix(a.auth, "Bearer t") {
		k.wrong = append(k.wrong, a.path+" without a token")
	}
	switch {
	case a.path == "/login":
		k.accounts[string(a.body)]++
		k.seen["setup/login"]++
		return ok(fmt.Sprintf(`{"token": "t%s"}`, a.body))
	case a.path == "/carts":
		k.seen["buy/cart"]++
		cart := fmt.Sprint(k.seen["buy/cart"])
		k.carts[cart] = a.auth
		return strings.Replace(ok("new"), "\r\n", "\r\nX-Cart: "+cart+"\r\n", 1)
	case strings.HasPrefix(a.path, "/carts/"):
		cart := strings.TrimPrefix(a.path, "/carts/")
		if k.carts[cart] != a.auth {
			k.wrong = append(k.wrong, "cart "+cart+" of another")
		}
		delete(k.carts, cart)
		k.seen["buy/pay"]++
		if k.seen["buy/pay"]%3 == 0 {
			k.seen["refused"]++
			return ok("owed")
		}
		return ok("paid")
	case a.path == "/head":
		k.seen["head"]++
		return head200 + "Content-Length: 100\r\n\r\n"
	}
	k.seen["home"]++
	return ok("welcome")
}

// check compares the loop's counts with the server's.
func (k *keeper) check(t *testing.T, targets []spec.Target, users int) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.wrong) > 0 {
		t.Errorf("the server saw %q", k.wrong[:min(len(k.wrong), 5)])
	}
	if len(k.accounts) != users {
		t.Errorf("accounts %v of %d users", k.accounts, users)
	}
	for account, n := range k.accounts {
		if n != 1 {
			t.Errorf("account %s logged in %d times", account, n)
		}
	}
	for _, target := range targets {
		want, checks := k.seen[target.Name], map[string]uint64{}
		if target.Name == "buy/pay" {
			want -= k.seen["refused"]
			checks["paid"] = k.seen["refused"]
		}
		if target.Requests != want || want == 0 || !maps.Equal(target.Checks, checks) || target.Errors != 0 || target.Setup != (target.Name == "setup/login") {
			t.Errorf("counted %+v, the server saw %d and %v", target, want, checks)
		}
	}
}
