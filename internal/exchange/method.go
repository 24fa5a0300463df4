package exchange

import "fmt"

// Method is a request method. Methods are case-sensitive (RFC 9110, 9.1).
type Method uint8

// The methods of RFC 9110, 9.3, and PATCH (RFC 5789).
const (
	MethodOther Method = iota // any other; see [Request.MethodBytes]
	MethodGet
	MethodHead
	MethodPost
	MethodPut
	MethodDelete
	MethodPatch
	MethodOptions
	MethodConnect
	MethodTrace
)

var methodNames = [...]string{
	MethodOther:   "",
	MethodGet:     "GET",
	MethodHead:    "HEAD",
	MethodPost:    "POST",
	MethodPut:     "PUT",
	MethodDelete:  "DELETE",
	MethodPatch:   "PATCH",
	MethodOptions: "OPTIONS",
	MethodConnect: "CONNECT",
	MethodTrace:   "TRACE",
}

// String returns the method's token, and the empty string for [MethodOther].
func (m Method) String() string {
	if int(m) >= len(methodNames) {
		return fmt.Sprintf("Method(%d)", uint8(m))
	}
	return methodNames[m]
}

// LookupMethod returns the method with the given token, or [MethodOther].
func LookupMethod(token []byte) Method {
	switch string(token) {
	case "GET":
		return MethodGet
	case "HEAD":
		return MethodHead
	case "POST":
		return MethodPost
	case "PUT":
		return MethodPut
	case "DELETE":
		return MethodDelete
	case "PATCH":
		return MethodPatch
	case "OPTIONS":
		return MethodOptions
	case "CONNECT":
		return MethodConnect
	case "TRACE":
		return MethodTrace
	}
	return MethodOther
}
