package scenario

import "testing"

// The loop of a generator does not allocate: neither for static requests nor for
// variables, HMAC tokens and checks.
func TestAllocs(t *testing.T) {
	const (
		static  = "targets:\n- {name: a, url: /}\n- {name: b, method: POST, url: /, body: x, weight: 3, think: \"lognormal:1s,1\"}\n"
		dynamic = "variables: {i: {int: [1, 9]}, n: {counter: 1}, u: {uuid: v4}, s: {string: 9}, c: {choice: [a, b]}, r: {csv: r.csv}, j: {jwt: {algorithm: HS256, key: x, claims: {a: '${u}'}, lifetime: 1m}}}\n" +
			"targets:\n- {name: a, method: PUT, url: '/${i}/${n}', headers: {A: 'Bearer ${j}'}, body: {json: {a: '${s}', b: '${c}', d: '${r.v}'}}}\n" +
			"- {name: b, method: PUT, url: '/${i}', body: {text: '${u}', chunked: true}}\n"
		checked = "defaults: {checks: [{status: [200, 404]}, {header: {name: X-Multi, equals: two}}, {body: {matches: 'i[ad]+\"'}}, {json: {path: $.state, equals: paid}}, {json: {path: $.big, equals: 1000}}]}\n" +
			"flows:\n- name: f\n  steps:\n  - {name: a, url: /}\n  - {name: b, url: /b}\n"
	)
	for name, text := range map[string]string{"static": static, "dynamic": dynamic, "checked": checked} {
		u := compiled(t, text, "r.csv", "v\nlonger than the others\n").User(1, 0, 1)
		head, body := []byte(answerHead), []byte(answerBody)
		buf := make([]byte, 0, 4096)
		var v View
		round := func() {
			target, _ := u.Next()
			buf = u.Append(buf[:0], target)
			u.View(&v, target)
			_ = u.Think(target)
			if failed := u.Answer(target, 200, head, body); failed != "" {
				t.Fatal(failed)
			}
		}
		for range 1000 { // the user's own buffers grow to their size
			round()
		}
		if n := testing.AllocsPerRun(1000, round); n != 0 {
			t.Errorf("%s: %v allocations a request", name, n)
		}
	}
}

func TestStreamAllocs(t *testing.T) {
	p := compiled(t, "targets:\n- {method: PUT, url: /, body: {size: 1GiB, chunked: true}}\n")
	s := p.Targets()[0].Stream()
	buf := make([]byte, 0, 64<<10)
	off := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		var err error
		if buf, err = s.AppendAt(buf[:0], off, 64<<10); err != nil {
			t.Fatal(err)
		}
		off += int64(len(buf))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
