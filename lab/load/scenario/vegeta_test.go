package scenario

import (
	"strings"
	"testing"
)

func TestTargets(t *testing.T) {
	p, err := Load("dir/targets.txt", options("dir/targets.txt", `# a comment

GET http://h:8080/items?page=2&x=${y}
Accept: application/json
X-Two: a
X-Two: b:c
# within a target
POST	https://other/orders HTTP/1.1
content-type: application/json
@../order.json

GET /under/base
Host: virtual
GET /under/base
`, "order.json", `{"n":"${n}"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want := []string{
		"GET /items?page=2&x=$%7By%7D HTTP/1.1\r\nHost: h:8080\r\nAccept: application/json\r\nX-Two: a\r\nX-Two: b:c\r\n\r\n",
		"POST /orders HTTP/1.1\r\nHost: other\r\ncontent-type: application/json\r\nContent-Length: 12\r\n\r\n{\"n\":\"${n}\"}",
		"GET /under/base HTTP/1.1\r\nHost: virtual\r\n\r\n",
		"GET /under/base HTTP/1.1\r\nHost: h:1\r\n\r\n",
	}
	// As in vegeta, two users use the targets in turn.
	for id, order := range [][]int{{0, 2, 1, 3}, {1, 3, 2, 0}} {
		u := p.User(1, id, 2)
		for i := range 8 {
			target, got := ask(t, u)
			if w := want[order[i%4]]; got != w || string(target.Wire()) != w {
				t.Errorf("user %d, request %d:\n got %q\nwant %q", id, i, got, w)
			}
		}
	}
	if o := p.Origins(); len(o) != 3 || o[0] != (Origin{"http", "h:8080"}) || o[1] != (Origin{"https", "other:443"}) || o[2] != (Origin{"http", "h:1"}) {
		t.Errorf("origins %v", o)
	}
	if f := strings.Join(p.Files(), " "); f != "dir/targets.txt order.json" {
		t.Errorf("files %s", f)
	}
	if p.Sequential() {
		t.Error("independent targets are sequential")
	}
}

func TestTargetsFlaws(t *testing.T) {
	for text, want := range map[string]string{
		"GET http://h/\nnonsense\n":             `t:2: "nonsense" is neither a header field nor a target; write Name: value`,
		"GET http://h/\n\nA: b\n":               `t:3: "A: b" belongs to no target; begin a target`,
		"GET http://h/\nGET HTTP/1.1\n":         "t:2: GET : no url; write url: /path",
		"GET http://h/\n@\n":                    "t:2: a body without a file; write @ and",
		"POST http://h/\n@a\n@a\n":              "t:3: a second body; keep one",
		"POST http://h/\n@gone\n":               "t:2: open gone: file does not exist",
		"GET http://h/ x\n":                     `t:1: url "http://h/ x": ' ' is not allowed there`,
		"GET http://h/\nPOST nowhere\n":         `t:2: url "nowhere" is neither`,
		"GET http://h/\nContent-Length: 2\n":    "t:2: Content-Length is set by the body",
		"get http://h/\n":                       "targets in vegeta's format begin with a method and a URL",
		"http://h/\n":                           "targets in vegeta's format",
		"GET http://h/\nA\x00B: c\n":            "is not the name of a header field",
		"GET http://h/a\nB: c\x01d\n":           "a line break or control character",
		"# nothing but comments\n":              "the file is empty",
		"GET http://h/\nBAD METHOD: x\n":        `url "METHOD: x" is neither`,
		"GET http://user:pw@h/\nX-Y: z\n@b.txt": "user information in a URL is not sent",
	} {
		_, err := Parse("t", []byte(text), options("a", "x", "b.txt", ""))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

// FuzzTargets looks for targets whose bytes are not one request to net/http.
func FuzzTargets(f *testing.F) {
	f.Add("GET http://h/\nA: b\n\nPOST http://h/x?y\n@body\n")
	f.Add("# c\nGET /\n")
	f.Add("GET http://h/\nHost: x y\n")
	f.Fuzz(func(t *testing.T, text string) {
		if !isTargets([]byte(text)) {
			return
		}
		p, err := Parse("t", []byte(text), options("body", "data"))
		if err != nil {
			return
		}
		for _, target := range p.Targets() {
			if strings.ContainsAny(target.host, " \t,") {
				continue // net/http rejects what RFC 9110 leaves to the recipient
			}
			r, _ := parse(t, string(target.Wire()))
			if r.Method != target.Method() || r.Host != target.host {
				t.Fatalf("%q: %s at %s", text, r.Method, r.Host)
			}
		}
	})
}
