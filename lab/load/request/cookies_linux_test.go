package request

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Every user has its own session, over all of its connections, and over HTTP/2 too.
func TestCookies(t *testing.T) {
	const text = `
cookies: true
variables: {n: {counter: 1}}
setup: [{name: login, url: /login}]
targets:
  - {name: get, url: "/shop/${n}"}
  - {name: post, method: POST, url: /shop/order, body: "order ${n}"}
  - {name: put, method: PUT, url: /shop/file, body: {size: 100KiB}}
`
	const verbatim = `prefs={"a":"q u", "b":"\é"}`
	for _, h2 := range []bool{false, true} {
		t.Run(fmt.Sprint("HTTP/2 ", h2), func(t *testing.T) {
			var mu sync.Mutex
			sessions := map[string]int{}
			wrong, logins := map[string]int{}, 0
			s := serveSecure(t, false, h2, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if r.URL.Path == "/login" {
					if logins++; len(r.Cookies()) > 0 {
						wrong["a new user has cookies"]++
					}
					http.SetCookie(w, &http.Cookie{Name: "session", Value: fmt.Sprint(logins), Path: "/shop"})
					w.Header().Add("Set-Cookie", verbatim+"; Path=/shop")
					http.SetCookie(w, &http.Cookie{Name: "elsewhere", Value: "x", Path: "/admin"})
					return
				}
				c, err := r.Cookie("session")
				if err != nil || len(r.Header["Cookie"]) != 1 || !strings.Contains(r.Header.Get("Cookie"), verbatim) {
					wrong[fmt.Sprintf("%s %s: %v", r.Method, r.URL.Path, r.Header["Cookie"])]++
					return
				}
				if sessions[c.Value]++; len(r.Cookies()) != min(sessions[c.Value], 2) {
					wrong[fmt.Sprint(len(r.Cookies()), " cookies")]++
				}
				http.SetCookie(w, &http.Cookie{Name: "seen", Value: "x", Path: "/", MaxAge: 3600})
			})
			order := scenarioSpec(s.addr, text)
			order.Requests, order.PerConnection = 300, 7
			if h2 {
				order.HTTP2, order.Streams = true, 4
			}
			if res := sumOf(t, order); len(res.Errors) > 0 {
				t.Errorf("errors %v", res.Errors)
			}
			if len(wrong) > 0 || logins != order.Places() || len(sessions) != logins {
				t.Errorf("wrong: %v; %d logins of %d users, %d sessions", wrong, logins, order.Places(), len(sessions))
			}
		})
	}
}
