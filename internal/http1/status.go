package http1

import (
	"strconv"

	"github.com/redline-go/redline/internal/exchange"
)

// reasons are the reason phrases as in net/http: those of RFC 9110, 15, and of later
// registrations, with a few older ones.
var reasons = map[int]string{
	100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints",
	200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information",
	204: "No Content", 205: "Reset Content", 206: "Partial Content", 207: "Multi-Status",
	208: "Already Reported", 226: "IM Used",
	300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other",
	304: "Not Modified", 305: "Use Proxy", 307: "Temporary Redirect", 308: "Permanent Redirect",
	400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden",
	404: "Not Found", 405: "Method Not Allowed", 406: "Not Acceptable",
	407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
	411: "Length Required", 412: "Precondition Failed", 413: "Request Entity Too Large",
	414: "URI Too Long", 415: "Unsupported Media Type", 416: "Requested Range Not Satisfiable",
	417: "Expectation Failed", 418: "I'm a teapot", 421: "Misdirected Request",
	422: "Unprocessable Entity", 423: "Locked", 424: "Failed Dependency", 425: "Too Early",
	426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
	431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
	500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway",
	503: "Service Unavailable", 504: "Gateway Timeout", 505: "HTTP Version Not Supported",
	506: "Variant Also Negotiates", 507: "Insufficient Storage", 508: "Loop Detected",
	510: "Not Extended", 511: "Network Authentication Required",
}

// statusLines holds the status lines of known statuses, built once.
var statusLines = func() (t [600][]byte) {
	for code, reason := range reasons {
		t[code] = []byte("HTTP/1.1 " + strconv.Itoa(code) + " " + reason + "\r\n")
	}
	return t
}()

// statusLine returns the status line of a known status, nil for an unknown one; 0 means
// 200.
func statusLine(status int) []byte {
	if status == 0 {
		status = 200
	}
	if status < 0 || status >= len(statusLines) {
		return nil
	}
	return statusLines[status]
}

// appendStatusLine appends the status line; 0 means 200.
func appendStatusLine(b []byte, status int) []byte {
	if line := statusLine(status); line != nil {
		return append(b, line...)
	}
	b = append(b, "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, " status code "...)
	b = strconv.AppendInt(b, int64(status), 10)
	return append(b, '\r', '\n')
}

// speak adapts a head to the version of the request. HTTP/1.0 clients may accept no other
// version, and net/http sends them no other.
func speak(head []byte, v exchange.Version) {
	if v == exchange.HTTP10 {
		head[len("HTTP/1.")] = '0'
	}
}
