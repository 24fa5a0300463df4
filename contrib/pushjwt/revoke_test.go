package pushjwt_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/redline-go/redline/contrib/pushjwt"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// TestRevoked: a token that was withdrawn by its "jti" ends its stream, and is refused; another one of the
// same user is not.
func TestRevoked(t *testing.T) {
	for name, serve := range pushtest.Servers {
		t.Run(name, func(t *testing.T) {
			tokens := create(t, pushjwt.Options{Keys: map[string]any{"": secret}, Algorithms: []string{"HS256"}})
			hub := pushtest.Hub(t, push.Options{})
			at := serve(t, tokens.Handler(hub))
			with := func(id string) http.Header {
				claims := jwt.MapClaims{"sub": "ann", "jti": id, "subscribe": []string{"t"}}
				return http.Header{"Authorization": {"Bearer " + sign(t, jwt.SigningMethodHS256, secret, "", claims)}}
			}
			one := pushtest.Open(t, at, pushtest.Query{Header: with("1")})
			two := pushtest.Open(t, at, pushtest.Query{Header: with("2")})
			n, err := hub.End(t.Context(), push.Ending{Token: "1", Until: time.Now().Add(time.Hour)})
			if n != 1 || err != nil {
				t.Fatalf("%d %v", n, err)
			}
			if rest, err := one.End(); err != nil || len(rest) != 1 || rest[0].Bye == nil || rest[0].Bye.Reason != "revoked" {
				t.Errorf("got %+v %v", rest, err)
			}
			if status, _, _ := pushtest.Refused(t, http.MethodGet, at, with("1")); status != 401 {
				t.Errorf("it is answered with %d", status)
			}
			pushtest.Publish(t, hub, "t", "x")
			two.Want("x")
		})
	}
}

// TestReadOnly: no token allows to publish to a topic that only the service publishes to.
func TestReadOnly(t *testing.T) {
	tokens := create(t, pushjwt.Options{Keys: map[string]any{"": secret}, Algorithms: []string{"HS256"}})
	hub := pushtest.Hub(t, push.Options{Rules: []push.Rule{{Pattern: "own/**", ReadOnly: true}}})
	at := pushtest.Servers["nethttp"](t, tokens.Publisher(hub, 100))
	token := sign(t, jwt.SigningMethodHS256, secret, "", jwt.MapClaims{"publish": []string{"**"}})
	for name, want := range map[string]int{"own/1": 403, "others": 200} {
		if status, text, _ := send(t, http.MethodPost, at+"?topic="+name, "x", http.Header{"Authorization": {"Bearer " + token}}); status != want {
			t.Errorf("%s: %d %q", name, status, text)
		}
	}
}
