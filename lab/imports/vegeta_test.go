package imports

import "testing"

func TestVegeta(t *testing.T) {
	s, err := Vegeta("t.txt", []byte("# comment\nGET http://h:1/a?${b}\nAccept: x\n\nPOST http://h:1/b\nContent-Length: 3\nX: 1\nX: 2\n@order.json\n\nGET http://h:1/a?${b}\n"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, wires(t, s, Settings{}), "GET /a?$%7Bb%7D HTTP/1.1\r\nHost: h:1\r\nAccept: x\r\n\r\n",
		"POST /b HTTP/1.1\r\nHost: h:1\r\nX: 1\r\nX: 2\r\nContent-Length: 13\r\n\r\n{\"item\":\r\n7}\n", "GET /a?$%7Bb%7D HTTP/1.1\r\nHost: h:1\r\n\r\n")
	s, err = Vegeta("t.json", []byte(`{"method":"POST","url":"http://h/a","body":"JHt4fQ==","header":{"B":["1","2"],"A":["x"]}}
{"method": "GET", "url": "http://h/"}`))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, wires(t, s, Settings{}), "POST /a HTTP/1.1\r\nHost: h\r\nA: x\r\nB: 1\r\nB: 2\r\nContent-Length: 4\r\n\r\n${x}", "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
}

func TestVegetaRefused(t *testing.T) {
	for source, want := range map[string]string{
		"GET http://h/\nnonsense": "t:2: \"nonsense\" is neither a header field nor a target",
		"GET ftp://h/":            "t:1: \"ftp://h/\" is not a URL of HTTP",
		"{\"method\":\"GET\",\"url\":\"http://h/\"}\n\n{\"url\":1}":  "t:3: json: cannot unmarshal",
		"{\"method\":\"GET\",\"url\":\"http://h/\"}\n{\"method\":x}": "t:2: invalid character 'x'",
		`{"method":"GET","url":"http://h/"}]`:                        "t:1: unexpected \"]\" after a target; write one object",
		`{"url":"http://h/"}`:                                        "t:1: a target without method or url",
		`{"method":"GET","url":"http://h/","body":"/w=="}`:           "t:1: the body is not text; store it in a file",
	} {
		_, err := Vegeta("t", []byte(source))
		refused(t, err, want)
	}
}

func FuzzVegeta(f *testing.F) {
	f.Add("GET http://h/\nA: b\n@c\nPOST /x HTTP/1.1\n")
	f.Add(`{"method":"POST","url":"http://h/a","body":"JHt4fQ==","header":{"B":["1","2"]}}`)
	f.Add("A HTTP/1.1")
	f.Add("GET http://h/\n@\xff\n")
	f.Fuzz(func(t *testing.T, source string) {
		s, err := Vegeta("t", []byte(source))
		importable(t, s, err)
	})
}
