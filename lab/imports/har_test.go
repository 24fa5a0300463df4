package imports

import (
	"strings"
	"testing"
	"time"
)

const recording = `{"log": {"version": "1.2", "pages": [], "entries": [
{"startedDateTime": "2026-01-31T12:00:02.500Z", "time": 20, "_resourceType": "xhr",
 "request": {"method": "POST", "url": "https://shop.test/orders", "headers": [
  {"name": ":authority", "value": "shop.test"}, {"name": "content-length", "value": "9"}, {"name": "content-type", "value": "application/json"},
  {"name": "cookie", "value": "s=1"}, {"name": "accept", "value": "*/*"}],
  "postData": {"mimeType": "application/json", "text": "{\"a\":\"${b}\"}"}},
 "response": {"status": 422, "content": {"mimeType": "application/json"}}},
{"startedDateTime": "2026-01-31T12:00:00.000Z", "time": 100.4, "_resourceType": "document",
 "request": {"method": "GET", "url": "https://shop.test/?q=a|b#top", "headers": [
  {"name": "Host", "value": "shop.test"}, {"name": "Connection", "value": "keep-alive"}, {"name": "cookie", "value": "s=1"}, {"name": "accept", "value": "*/*"}]},
 "response": {"status": 200, "content": {"mimeType": "text/html"}}},
{"startedDateTime": "2026-01-31T12:00:00.050Z", "time": 400, "_resourceType": "image",
 "request": {"method": "GET", "url": "https://shop.test/logo.png", "headers": [{"name": "cookie", "value": "s=1"}, {"name": "accept", "value": "*/*"}]},
 "response": {"status": 200, "content": {"mimeType": "image/png"}}},
{"startedDateTime": "2026-01-31T12:00:01.000Z", "time": 5000,
 "request": {"method": "GET", "url": "https://ads.test/track?access_token=1", "headers": []},
 "response": {"status": 200, "content": {"mimeType": "text/javascript; charset=utf-8"}}},
{"startedDateTime": "2026-01-31T12:00:03.000Z", "time": 1, "_fromCache": "memory",
 "request": {"method": "GET", "url": "https://shop.test/logo.png", "headers": []}, "response": {"status": 200}},
{"startedDateTime": "2026-01-31T12:00:03.000Z", "time": 1, "request": {"method": "GET", "url": "wss://shop.test/live", "headers": []}, "response": {"status": 101}},
{"startedDateTime": "2026-01-31T12:00:03.000Z", "time": -1, "request": {"method": "GET", "url": "https://shop.test/blocked", "headers": []}, "response": {"status": 0}},
{"startedDateTime": "2026-01-31T12:00:03.000Z", "time": 1, "request": {"method": "GET", "url": "data:image/png;base64,AA", "headers": []}, "response": {"status": 200}},
{"startedDateTime": "2026-01-31T12:00:04.000Z", "time": null,
 "request": {"method": "POST", "url": "https://shop.test/login", "headers": [{"name": "cookie", "value": "s=1"}, {"name": "accept", "value": "*/*"}],
  "postData": {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a b", "value": "é"}]}},
 "response": {"status": 302, "content": {}}}
]}}`

func har(t *testing.T, o HAROptions) *Scenario {
	t.Helper()
	s, err := HAR("b.har", []byte(recording), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestHAR(t *testing.T) {
	s := har(t, HAROptions{})
	equal(t, wires(t, s, Settings{Credentials: Keep}),
		"GET /?q=a%7Cb HTTP/1.1\r\nHost: shop.test\r\ncookie: s=1\r\naccept: */*\r\n\r\n",
		"GET /logo.png HTTP/1.1\r\nHost: shop.test\r\ncookie: s=1\r\naccept: */*\r\n\r\n",
		"POST /orders HTTP/1.1\r\nHost: shop.test\r\ncookie: s=1\r\naccept: */*\r\ncontent-type: application/json\r\nContent-Length: 12\r\n\r\n{\"a\":\"${b}\"}",
		"POST /login HTTP/1.1\r\nHost: shop.test\r\ncookie: s=1\r\naccept: */*\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 10\r\n\r\na+b=%C3%A9")
	noted(t, s, "credentials in cookie", "requests that the browser's cache has answered", "WebSockets are left out", "without an answer",
		"begin with data:", "1 request to https://ads.test left out", "their status is what the scenario expects")
	for i, want := range []struct {
		think  time.Duration
		status int
	}{{0, 0}, {2050 * time.Millisecond, 0}, {1480 * time.Millisecond, 422}, {0, 0}} {
		if r := s.Requests[i]; r.Think != want.think || r.Status != want.status {
			t.Errorf("request %d: pause %v, status %d; want %v", i, r.Think, r.Status, want)
		}
	}
}

func TestHAROptions(t *testing.T) {
	s := har(t, HAROptions{NoAssets: true, NoCookies: true, NoThink: true})
	if got := wires(t, s, Settings{}); len(got) != 3 || strings.Contains(strings.Join(got, ""), "s=1") || s.Requests[0].Think != 0 {
		t.Errorf("without assets, cookies and pauses: %q, pause %v", got, s.Requests[0].Think)
	}
	noted(t, s, "images, fonts, style sheets, scripts and media are left out")
	s = har(t, HAROptions{})
	equal(t, wires(t, s, Settings{Host: "ads.test"}), "GET /track?access_token=1 HTTP/1.1\r\nHost: ads.test\r\n\r\n")
	noted(t, s, "the URLs contain credentials in the parameter access_token", "4 requests to https://shop.test left out")
	refused(t, har(t, HAROptions{}).Finish(Settings{Host: "other"}), "--host other: no request goes there; the hosts are https://shop.test, https://ads.test")
}

// Credentials are sent as recorded, sent from one place, or left out.
func TestCredentials(t *testing.T) {
	keep, variable, drop := har(t, HAROptions{}), har(t, HAROptions{}), har(t, HAROptions{})
	equal(t, wires(t, variable, Settings{Credentials: Variable}), wires(t, keep, Settings{Credentials: Keep})...)
	file, err := variable.YAML()
	if err != nil || strings.Count(string(file), "s=1") != 1 || !strings.Contains(string(file), "variables:\n  cookie:\n    value: s=1\n") {
		t.Errorf("error %v in\n%s", err, file)
	}
	if got := strings.Join(wires(t, drop, Settings{Credentials: Drop}), ""); strings.Contains(got, "s=1") {
		t.Errorf("a cookie in %q", got)
	}
	noted(t, drop, "credentials are left out: cookie; give them to redline load with -H")
	s, err := Curl("c", []byte("curl http://h/ -H 'Authorization: a'\ncurl http://h/b -H 'Authorization: ${b}'\ncurl http://h/c -u a:b"), nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, wires(t, s, Settings{Credentials: Variable}), "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: a\r\n\r\n",
		"GET /b HTTP/1.1\r\nHost: h\r\nAuthorization: ${b}\r\n\r\n", "GET /c HTTP/1.1\r\nHost: h\r\nAuthorization: Basic YTpi\r\n\r\n")
}

func TestHARRefused(t *testing.T) {
	entry := func(request string) string { return `{"log":{"entries":[` + request + `]}}` }
	for source, want := range map[string]string{
		"{\n\"log\": x}":                    "b.har:2: this is not a HAR file: invalid character 'x'",
		"{\"log\":\n{\"entries\":7}}":       "b.har:2: this is not a HAR file",
		`{}`:                                "it has no log; save the recording",
		entry(`{"startedDateTime":"soon"}`): `log.entries[0]: startedDateTime "soon"; write a time`,
		entry(`{"request":{"url":"x"},"response":{"status":200}}`):                                               `log.entries[0]: "x" is not a URL`,
		entry(`{"request":{"method":"CONNECT","url":"http://h/"},"response":{"status":200}}`):                    "method CONNECT",
		entry(`{"request":{"url":"http://h/","headers":[{"name":"a b","value":""}]},"response":{"status":200}}`): `"a b" is not the name of a header field`,
		entry(`{"request":{"url":"http://h/"},"response":{"status":1000}}`):                                      "status 1000",
	} {
		_, err := HAR("b.har", []byte(source), HAROptions{})
		refused(t, err, want)
	}
	s, err := HAR("b.har", []byte(entry("")), HAROptions{})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, s.Finish(Settings{}), "the source contains no request to import")
}

func FuzzHAR(f *testing.F) {
	f.Add(recording)
	f.Add(`{"log":{"entries":[{"request":{"url":"http://h:1/${a}","headers":[{"name":"a","value":"${b}"}]},"response":{"status":404}}]}}`)
	f.Add(strings.Replace(recording, "2026-01-31T12:00:00.000Z", "2025-01-31T12:00:00.000Z", 1))
	f.Fuzz(func(t *testing.T, source string) {
		s, err := HAR("b.har", []byte(source), HAROptions{})
		importable(t, s, err)
	})
}
