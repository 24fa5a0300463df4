package imports

import (
	"strings"
	"testing"
)

func TestCurl(t *testing.T) {
	const form = "Content-Type: application/x-www-form-urlencoded"
	head := func(request string, fields ...string) string {
		return lines(append(append([]string{request, "Host: h:8080"}, fields...), "", "")...)
	}
	for source, want := range map[string]string{
		`curl http://h:8080`:                                                                       head("GET / HTTP/1.1"),
		`curl h:8080/a?b#c`:                                                                        head("GET /a?b HTTP/1.1"),
		`$ curl 'http://h:8080/${x}' -g`:                                                           head("GET /$%7Bx%7D HTTP/1.1"),
		`curl "http://h:8080/é x|%zz%41"`:                                                          head("GET /%C3%A9%20x%7C%25zz%41 HTTP/1.1"),
		`curl --url http://h:8080/ -I -o /dev/null`:                                                head("HEAD / HTTP/1.1"),
		`curl -sSLXPURGE http://h:8080/`:                                                           head("PURGE / HTTP/1.1"),
		"curl \\\n  'http://h:8080/' \\\n -A me\\ x":                                               head("GET / HTTP/1.1", "User-Agent: me x"),
		`curl http://h:8080/ -H 'A: ${b}' -H 'C;'`:                                                 head("GET / HTTP/1.1", "A: ${b}", "C: "),
		`curl http://h:8080/ -H 'A: 1' -H "a: \"2\""`:                                              head("GET / HTTP/1.1", "A: 1", `A: "2"`),
		`curl http://h:8080/ -u me:secret`:                                                         head("GET / HTTP/1.1", "Authorization: Basic bWU6c2VjcmV0"),
		`curl http://me:secret@h:8080/`:                                                            head("GET / HTTP/1.1", "Authorization: Basic bWU6c2VjcmV0"),
		`curl http://h:8080/ -u a:b -H 'Authorization: x'`:                                         head("GET / HTTP/1.1", "Authorization: x"),
		`curl http://h:8080/ -b a=b -b 'c=d; e=f' -e http://r/`:                                    head("GET / HTTP/1.1", "Referer: http://r/", "Cookie: a=b; c=d; e=f"),
		`curl http://h:8080/ --compressed -H 'Connection: keep-alive'`:                             head("GET / HTTP/1.1", "Accept-Encoding: deflate, gzip, br, zstd"),
		`curl http://h:8080/ -d a=1 --data-raw @b --no-keepalive`:                                  head("POST / HTTP/1.1", form, "Content-Length: 6") + "a=1&@b",
		`curl -d '${x}' http://h:8080/`:                                                            head("POST / HTTP/1.1", form, "Content-Length: 4") + "${x}",
		`curl http://h:8080/ -d ''`:                                                                head("POST / HTTP/1.1", form, "Content-Length: 0"),
		`curl http://h:8080/ -d $'it\'s\tA\u00e9\x41%s\n\\'`:                                       head("POST / HTTP/1.1", form, "Content-Length: 13") + "it's\tA\u00e9A%s\n\\",
		`curl http://h:8080/ -d @order.json`:                                                       head("POST / HTTP/1.1", form, "Content-Length: 10") + `{"item":7}`,
		`curl http://h:8080/ --data-binary @order.json -H Content-Type:`:                           head("POST / HTTP/1.1", "Content-Length: 13") + "{\"item\":\r\n7}\n",
		`curl http://h:8080/ --data-urlencode 'a=b c' --data-urlencode 'd@a b.txt'`:                head("POST / HTTP/1.1", form, "Content-Length: 24") + "a=b%20c&d=x%20%26%20y%0A",
		`curl http://h:8080/?x=1 -G -d a=1 --data-urlencode =é`:                                    head("GET /?x=1&a=1&%C3%A9 HTTP/1.1"),
		`curl http://h:8080/ --url-query 'q=a b'`:                                                  head("GET /?q=a%20b HTTP/1.1"),
		`curl http://h:8080/ --json '{"a":' --json '1}'`:                                           head("POST / HTTP/1.1", "Accept: application/json", "Content-Type: application/json", "Content-Length: 7") + `{"a":1}`,
		`curl http://h:8080/ -T order.json`:                                                        head("PUT / HTTP/1.1", "Content-Length: 13") + "{\"item\":\r\n7}\n",
		`curl http://h:8080/ -r 0-9 | head -c 5 > /dev/null`:                                       head("GET / HTTP/1.1", "Range: bytes=0-9"),
		`curl http://h:8080/ -H 'Transfer-Encoding: chunked' -H 'Content-Type: text/plain' -d abc`: head("POST / HTTP/1.1", "Content-Type: text/plain", "Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\n\r\n",
	} {
		t.Run(source, func(t *testing.T) {
			s, err := Curl("c.sh", []byte(source), read)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, wires(t, s, Settings{}), want)
		})
	}
}

func TestCurlForm(t *testing.T) {
	s, err := CurlWords(strings.Fields("http://h/ -F a=1;type=text/plain -F b=@order.json;filename=o -F c=<order.json --form-string d=@x"), read)
	if err != nil {
		t.Fatal(err)
	}
	got := wires(t, s, Settings{})[0]
	for _, want := range []string{
		"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=" + boundary + "\r\nContent-Length: ",
		"--" + boundary + "\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Type: text/plain\r\n\r\n1\r\n",
		"Content-Disposition: form-data; name=\"b\"; filename=\"o\"\r\nContent-Type: application/octet-stream\r\n\r\n{\"item\":\r\n7}\n\r\n",
		"name=\"c\"\r\n\r\n{\"item\":", "name=\"d\"\r\n\r\n@x\r\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
}

// Several commands are requested in turn, each with its own name.
func TestCurlSeveral(t *testing.T) {
	s, err := Curl("c.sh", []byte("# look\ncurl -k http://h/a -H 'X: 1' && curl http://h/a -H 'X: 1' -H 'Y: 2'; curl http://h/b http://h/c -H 'X: 1' --next http://other/ -L\ncurl -H 'X: 1' http://h/a\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, wires(t, s, Settings{}),
		"GET /a HTTP/1.1\r\nHost: h\r\nX: 1\r\n\r\n", "GET /a HTTP/1.1\r\nHost: h\r\nX: 1\r\nY: 2\r\n\r\n",
		"GET /b HTTP/1.1\r\nHost: h\r\nX: 1\r\n\r\n", "GET /c HTTP/1.1\r\nHost: h\r\nX: 1\r\n\r\n", "GET /a HTTP/1.1\r\nHost: h\r\nX: 1\r\n\r\n")
	noted(t, s, "-k: give --insecure to redline load", "-L: redirects are not followed", "1 request to http://other left out")
	if s.Requests[1].Name != "GET /a (2)" || s.Requests[4].Name != "GET /a (3)" {
		t.Errorf("names %q, %q", s.Requests[1].Name, s.Requests[4].Name)
	}
}

// Options of the connection are flags of redline load.
func TestCurlConnection(t *testing.T) {
	for options, want := range map[string]string{
		"--cacert ca.pem":                            "--cacert: give --ca ca.pem to redline load",
		"--cert c.pem":                               "--cert: give --cert c.pem to redline load",
		"--key '/etc/my keys/k.pem'":                 "--key: give --key '/etc/my keys/k.pem' to redline load",
		`--key "it's"`:                               `--key: give --key "it's" to redline load`,
		`-E 'a\:b\\c.pem:s3cret'`:                    `-E: give --cert 'a:b\c.pem' to redline load, which needs its key without a password`,
		"--cert c.p12:s3cret --cert-type P12":        "--cert-type: redline load needs PEM: convert the P12",
		"--key k.der --key-type DER":                 "--key-type: redline load needs PEM: convert the DER",
		"--cert 'pkcs11:object=a;pin-value=s3cret'":  "--cert: left out: redline load reads certificates and keys from PEM files only",
		"--key PKCS11:pin-value=s3cret":              "--key: left out: redline load reads",
		"--pass s3cret":                              "--pass: left out: redline load needs a key without a password",
		"--unix-socket /run/app.sock":                "--unix-socket: give --unix /run/app.sock to redline load",
		"--unix-socket @app":                         "--unix-socket: give --unix ./@app to redline load",
		"--abstract-unix-socket app":                 "--abstract-unix-socket: give --unix @app to redline load",
		"--unix-socket '' --cert '' --cert-type PEM": "--unix-socket: give --unix '' to redline load",
	} {
		s, err := Curl("c.sh", []byte("curl "+options+" http://h/a"), nil)
		if err != nil {
			t.Errorf("%s: %v", options, err)
			continue
		}
		equal(t, wires(t, s, Settings{}), lines("GET /a HTTP/1.1", "Host: h", "", ""))
		noted(t, s, want)
		if all := strings.Join(s.Notes, "\n"); strings.Contains(all, "s3cret") || strings.Contains(all, "PEM: convert the PEM") {
			t.Errorf("%s: notes\n%s", options, all)
		}
	}
}

func TestCurlRefused(t *testing.T) {
	for source, want := range map[string]string{
		"\ncurl 'http://h/":                       "c.sh:2: ",
		"curl ^\"http://h/^\" ^\n  -H ^\"A: b^\"": "copy the command for bash",
		"curl http://h/ && wget http://h/":        `c.sh:1: the command "wget" is not curl; keep only`,
		"curl http://h/$ID":                       "c.sh:1: the value of $ID is not known; write its value",
		"curl \"http://h/${ID}\"":                 "the value of $ID is not known",
		"curl http://h/$(date)":                   "something that only a shell can expand",
		"A=1 curl http://h/":                      "a shell variable; write the value",
		"for i in 1; do curl http://h/; done":     "something other than a command; keep only",
		"curl -s":                                 "c.sh:1: a curl command without a URL; write",
		"curl http://h/ --frobnicate":             `curl's option "--frobnicate" is not known here; remove it`,
		"curl http://h/ -sK x":                    `curl's option "-K" is not known here`,
		"curl http://h/ -H":                       "curl's option -H has no value; write its value",
		"curl http://h/ -H x":                     `"x" is not a header field; write -H 'Name: value'`,
		"curl http://h/ -H @x":                    `header fields in the file "x"; write each`,
		"curl http://h/ -H $'A: b\\nC: d'":        "header A has a line break or a control character; write it on one line",
		"curl http://h/ -d @-":                    "content from standard input; store it",
		"curl http://h/ -d @absent":               "absent: file does not exist; name a readable file",
		"curl http://h/ -F a=@binary":             "a form with a binary file; store the whole body",
		"curl http://h/ -F a":                     `the part "a" of a form; write -F name=value`,
		"curl http://h/ -d $'\\xff'":              "the body is not text; store it in a file",
		"curl http://h/ -d a -F b=c":              "data, a form and an upload in one command; keep one",
		"curl http://h/ -T -":                     "content from standard input",
		"curl http://h/ -u me":                    "-u without a password",
		"curl http://h/ -b jar.txt":               `the cookies of a file, "jar.txt"; write`,
		"curl 'http://h/{a,b}'":                   `curl expands {a,b} and [1-9] in "http://h/{a,b}"; add --globoff`,
		"curl ftp://h/":                           "is not a URL of HTTP; write",
		"curl http:///x":                          "does not name a server; write",
		"curl -X 'GE T' http://h/":                `method "GE T"; write GET`,
	} {
		s, err := Curl("c.sh", []byte(source), read)
		if err == nil {
			t.Errorf("%q is accepted: %+v", source, s.Requests)
			continue
		}
		refused(t, err, want)
	}
}

func FuzzCurl(f *testing.F) {
	f.Add(`curl 'http://h/a?b' -H 'A: ${b}' --data-raw $'\x41\u00e9' -sSL | jq`)
	f.Add("curl h -d @order.json -G --next http://h/ -F 'a=b;type=x'\ncurl -u a:b http://[::1]:80/ -b a=b")
	f.Add("curl ~a/b{c,d} ${x:-y} $((1)) <<E\nE\n")
	f.Fuzz(func(t *testing.T, source string) {
		s, err := Curl("c.sh", []byte(source), read)
		importable(t, s, err)
	})
}
