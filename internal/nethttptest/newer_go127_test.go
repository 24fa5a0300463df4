//go:build go1.27

package nethttptest

// newer has the differences that are others, or none, since net/http has changed in Go 1.27.
// docs/nethttp-differences.md has those from the oldest Go that the module builds with.
var newer = map[string]string{
	// It sends no Content-Length with the 2xx of CONNECT any more (RFC 9110, 8.6), and closes.
	"target: CONNECT":           "+answer 1: Connection: close\n-answer 1: body \"ok\"\n",
	"target: CONNECT to a path": "+answer 1: Connection: close\n-answer 1: body \"ok\"\n",
	"mux: other methods":        "",

	// It closes a connection whose client was not asked for the content.
	"expect: answered first, read later": `-answer 1: HTTP/1.1 200 OK
-answer 1: Connection: close
-answer 1: Content-Length: 5
-answer 1: Content-Type: text/plain; charset=utf-8
-answer 1: Date: now
-answer 1: body "first"
-fate: closed
-state: new active closed
-seen: content "": http.ErrBodyReadAfterClose
+answer 1: HTTP/1.1 100 Continue
+answer 2: HTTP/1.1 200 OK
+answer 2: Content-Length: 5
+answer 2: Content-Type: text/plain; charset=utf-8
+answer 2: Date: now
+answer 2: body "first"
+fate: open
+state: new active idle active closed
+seen: content "hello": ok
`,

	// Without keep-alives it does not promise one.
	"server: keep-alives are off, 1.0": "",

	// Over HTTP/2 it refuses what is malformed, too.
	"HTTP/2: content: equal lengths twice": "-seen: Header Content-Length: [\"5\"]\n+seen: Header Content-Length: [\"5\" \"5\"]\n",
	"HTTP/2: content: lengths that differ": "",
	"HTTP/2: content: announced and none":  "",
	"HTTP/2: head: :path in absolute form": "",
}
