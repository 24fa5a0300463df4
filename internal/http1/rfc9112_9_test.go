package http1

import "testing"

// Connection management, and the expectation of 100 (Continue).

func TestConnectionRefused(t *testing.T) {
	var cases []refusal
	for _, v := range []string{
		"close keep-alive", "close;q=1", "a(b", "\"close\"", "close\x80", "upgrade, a b",
		"keep-alive;", "keep-alive;timeout", "keep-alive;timeout=", "keep-alive;=5", "keep-alive;timeout=5;", "keep-alive timeout=5",
		"keep-alive;timeout=5 6", "keep-alive;t=\"5", "keep-alive;t=\"a,b\"", "timeout=5", "keep-alive, timeout=5", "keep-alive, max;a=1", "upgrade;a=b", ";timeout=5", "xkeep-alive;timeout=5",
	} {
		cases = append(cases, refusal{"RFC 9110, 7.6.1 " + v, get("Connection: " + v + "\r\n"), ErrConnection})
	}
	for _, v := range []string{"200-ok", "100-continue, x", "x,100-continue", "100-continue;a=b", "100-continue 100-continue", "100"} {
		cases = append(cases, refusal{"RFC 9110, 10.1.1 " + v, get("Expect: " + v + "\r\n"), ErrExpect})
	}
	checkRefusals(t, cases)
}

func TestConnectionAccepted(t *testing.T) {
	const start, tail = "GET / path=/ host=h 1.1 len=0", "|Host:h|Connection:"
	one := func(version, value string) string {
		return "GET / HTTP/" + version + "\r\nHost: h\r\nConnection: " + value + "\r\n\r\n"
	}
	const start0 = "GET / path=/ host=h 1.0 len=0"
	checkAcceptances(t, []acceptance{
		{"9.3 persists", get(""), start + "|Host:h"},
		{"9.6", one("1.1", "close"), start + " close" + tail + "close"},
		{"9.6 any case", one("1.1", "CLOSE"), start + " close" + tail + "CLOSE"},
		{"9.6 in a list", one("1.1", "a, close ,b"), start + " close" + tail + "a, close ,b"},
		{"9.3 keep-alive", one("1.1", "Keep-Alive"), start + tail + "Keep-Alive"},
		{"9.3 close wins", one("1.1", "keep-alive, close"), start + " close" + tail + "keep-alive, close"},
		{"RFC 9110, 5.6.1 empty items", one("1.1", ", ,close,"), start + " close" + tail + ", ,close,"},
		{"RFC 9110, 7.6.1 empty", one("1.1", ""), start + tail},
		{"RFC 9110, 7.6.1 other tokens", one("1.1", "te, x-a"), start + tail + "te, x-a"},
		{"9.3 keep-alive with a parameter", one("1.1", "keep-alive;timeout=5"), start + tail + "keep-alive;timeout=5"},
		{"9.3 keep-alive with parameters", one("1.1", "Keep-Alive; max=100 ; timeout = \"5;6\""), start + tail + "Keep-Alive; max=100 ; timeout = \"5;6\""},
		{"9.3 1.0 keep-alive with a parameter", one("1.0", "keep-alive; max=100"), start0 + tail + "keep-alive; max=100"},
		{"9.3 keep-alive with a parameter in a list", one("1.0", "a, keep-alive;timeout=5 ,b"), start0 + tail + "a, keep-alive;timeout=5 ,b"},
		{"9.3 a parameter is no option", one("1.1", "keep-alive;close=1"), start + tail + "keep-alive;close=1"},
		{"9.6 close behind a parameter", one("1.1", "keep-alive;timeout=5, close"), start + " close" + tail + "keep-alive;timeout=5, close"},
		{"9.3 two fields", get("Connection: a\r\nConnection: close\r\n"), start + " close" + tail + "a|Connection:close"},
		{"9.3 1.0 closes", "GET / HTTP/1.0\r\nHost: h\r\n\r\n", start0 + " close|Host:h"},
		{"9.3 1.0 keep-alive", one("1.0", "keep-alive"), start0 + tail + "keep-alive"},
		{"9.3 1.0 both", one("1.0", "close, keep-alive"), start0 + " close" + tail + "close, keep-alive"},
		{"RFC 9110, 7.8", get("Connection: Upgrade\r\nUpgrade: websocket\r\n"), start + tail + "Upgrade|Upgrade:websocket"},
		{"RFC 9110, 7.8 without Connection", get("Upgrade: websocket\r\n"), start + "|Host:h|Upgrade:websocket"},
		{"RFC 9110, 7.8 without Upgrade", one("1.1", "upgrade"), start + tail + "upgrade"},
		{"RFC 9110, 7.8 not in 1.0", "GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "GET / path=/ host= 1.0 len=0 close|Connection:upgrade|Upgrade:x"},
		{"RFC 9110, 10.1.1", post("Expect: 100-Continue\r\nContent-Length: 1\r\n", "x"), "POST / path=/ host=h 1.1 len=1 continue|Host:h|Expect:100-Continue|Content-Length:1 => x"},
		{"RFC 9110, 5.6.1.2 behind", post("Expect: 100-continue,\r\nContent-Length: 1\r\n", "x"), "POST / path=/ host=h 1.1 len=1 continue|Host:h|Expect:100-continue,|Content-Length:1 => x"},
		{"RFC 9110, 5.6.1.2 ahead", post("Expect: , ,100-continue , 100-continue\r\nContent-Length: 1\r\n", "x"), "POST / path=/ host=h 1.1 len=1 continue|Host:h|Expect:, ,100-continue , 100-continue|Content-Length:1 => x"},
		{"RFC 9110, 5.6.1.2 nothing else", post("Expect: ,\r\nExpect:\r\nContent-Length: 1\r\n", "x"), "POST / path=/ host=h 1.1 len=1|Host:h|Expect:,|Expect:|Content-Length:1 => x"},
		{"RFC 9110, 10.1.1 without content", get("Expect: 100-continue\r\n"), start + "|Host:h|Expect:100-continue"},
		{"RFC 9110, 10.1.1 not in 1.0", "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx", "POST / path=/ host= 1.0 len=1 close|Expect:100-continue|Content-Length:1 => x"},
	})
}
