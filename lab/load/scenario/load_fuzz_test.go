package scenario

import (
	"errors"
	"testing"
)

// FuzzParse looks for files that the loader neither accepts nor rejects, and for
// plans whose users have no requests.
func FuzzParse(f *testing.F) {
	f.Add("s.yaml", shop)
	f.Add("s.json", `{"targets":[{"url":"/${vu}","method":"PUT","body":{"json":{"a":[1,"${vu|raw}"]}}}]}`)
	f.Add("s.yaml", "x: &a {name: a}\ntargets:\n- {<<: *a, url: /}\n")
	f.Add("s.yaml", "variables: {j: {jwt: {algorithm: HS256, key: x, claims: {a: 1}}}}\ntargets: [{url: '/${j}', checks: [{status: 2xx}]}]\n")
	for _, flaw := range flaws {
		f.Add("s.yaml", flaw.text)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		p, err := Parse(name, []byte(text), options("a.csv", "name\nann\n"))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Do == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		u := p.User(1, 0, 1)
		var v View
		for range 5 {
			target, ok := u.Next()
			if !ok {
				t.Fatalf("%q: waits for nothing", text)
			}
			if len(u.Append(nil, target)) == 0 {
				t.Fatalf("%q: %s is empty", text, target.Name())
			}
			u.View(&v, target)
			u.Answer(target, 200, []byte(answerHead), []byte(answerBody))
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
