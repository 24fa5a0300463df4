package http1

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"regexp"
	"strings"
	"testing"

	"github.com/redline-go/redline/internal/exchange"
)

// seeds are messages that between them go through most of the grammar.
var seeds = []string{
	head35, head128, head703,
	"\r\nGET /a%20b?c=%zz HTTP/1.0\r\nConnection: keep-alive;timeout=\"5\" ; max=7, x\r\n\r\n",
	"GET http://[::ffff:1.2.3.4]:80/x?y=\u00e9\xff HTTP/1.1\r\nHost: h\r\n\r\n",
	"CONNECT /_goRPC_ HTTP/1.0\n\nrpc", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\r\nCONNECT /%61?b HTTP/1.1\r\nHost: h\r\n\r\n",
	"CONNECT a%41.b:443 HTTP/1.1\r\nHost: a.b:443\r\n\r\n",
	"OPTIONS * HTTP/1.1\r\nHost:\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello",
	"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\\\"\" ; c\r\nhello\r\n0\r\nA: b\r\n\r\n",
	"PUT /x HTTP/1.2\r\nhost: h\r\nA:\t\x80 b\t\r\nB:\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\nContent-Length: 5, 5\r\n folded\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: h\r\nTrailer: A, Trailer\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: a b\r\nA : b\r\nConnection: a b\r\n\r\n\n",
}

// FuzzParse holds the parser to the oracle, for whole messages and for one split,
// under the default limits and under small ones.
func FuzzParse(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), uint16(i*7), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, b []byte, cut uint16, small bool) {
		checkOracle(t, string(b), int(cut), small)
	})
}

// TestRandomAgainstOracle strings pieces of messages together. Blind mutation finds
// bad bytes; this finds messages that are right but for one thing.
func TestRandomAgainstOracle(t *testing.T) {
	pick := func(rng *rand.Rand, from []string) string { return from[rng.IntN(len(from))] }
	lines := []string{"GET / HTTP/1.1", "POST /a?b HTTP/1.1", "GET /\u00e9 HTTP/1.1", "GET /?\u6771\x80 HTTP/1.1", "PUT http://x:1/%41?q HTTP/1.1", "CONNECT h:80 HTTP/1.1", "CONNECT /a?b HTTP/1.1", "CONNECT /rpc HTTP/1.0\n\n", "PRI * HTTP/2.0", "OPTIONS * HTTP/1.0", "X /%4", "GET /v HTTP/1.9", "GET /v HTTP/2.0", "GET http://[::1] HTTP/1.0", "GET  / HTTP/1.1"}
	fields := []string{
		"Host: h", "Host: [1::2]:80", "host:", "Host: a b", "Content-Length: 5", "Content-Length: 12", "content-length: +1", "Transfer-Encoding: chunked",
		"Transfer-Encoding: gzip", "Connection: close", "Connection: upgrade, ,x", "Connection: keep-alive", "Connection: x, keep-alive;t=5", "Connection: close;t=5", "Upgrade: u", "Trailer: a, Content-Length", "Trailer: b", "Expect: 100-continue", "Expect: ,100-continue, ", "Expect: x",
		"A: b", "A:", "A :b", ": b", " b", "A: \x00", "A: \x80\t", "Accept: */*", "X-Long: " + strings.Repeat("long ", 40), "",
	}
	bodies := []string{
		"5", "hello", "0", "1;a=b", "x", "1 ;a", "A: b", "Host: h", "Cookie: c", "", "", "ffffffffffffffffff", "1;\"", "5;a=\"q\\\"\"", " ", "\n", "10000000", "0;e", "000001",
	}
	rng := rand.New(rand.NewPCG(3, 4))
	accepted := 0
	for range 20000 / tries {
		var in strings.Builder
		in.WriteString(pick(rng, lines) + "\r\n")
		if rng.IntN(4) > 0 {
			in.WriteString("Host: h\r\n")
		}
		if rng.IntN(3) == 0 {
			in.WriteString("Transfer-Encoding: chunked\r\n")
		}
		for range rng.IntN(4) {
			in.WriteString(pick(rng, fields) + "\r\n")
		}
		in.WriteString("\r\n")
		for range rng.IntN(3) {
			in.WriteString(pick(rng, []string{"5\r\nhello\r\n", "1;a\r\nx\r\n"}))
		}
		for range rng.IntN(4) {
			in.WriteString(pick(rng, bodies) + "\r\n")
		}
		if rng.IntN(2) == 0 {
			in.WriteString("0\r\n\r\n")
		}
		if checkOracle(t, in.String(), rng.IntN(200), rng.IntN(4) == 0) {
			accepted++
		}
	}
	if accepted < 1000/tries {
		t.Errorf("only %d messages were accepted: the pieces test too little", accepted)
	}
}

// checkOracle holds the parser to the oracle and to itself, and reports whether the
// message is whole and right.
func checkOracle(t *testing.T, in string, cut int, small bool) bool {
	t.Helper()
	lim := exchange.Limits{}
	if small {
		lim = exchange.Limits{MaxHeadBytes: 300, MaxFields: 5, MaxTargetBytes: 40, MaxBodyBytes: 30, MaxTrailerBytes: 30, MaxChunkExtBytes: 10, MaxChunkOverhead: 20}
	}
	got := read(lim, in, nil)
	if split := read(lim, in, []int{cut % (len(in) + 1)}); split != got {
		t.Fatalf("%q split at %d:\n%+v\nwhole:\n%+v", in, cut%(len(in)+1), split, got)
	}
	lim = lim.WithDefaults()
	head, n, length, ok := oracleHead(in, lim)
	if !ok {
		if got.head != "" {
			t.Fatalf("%q: accepted, against the oracle: %+v", in, got)
		}
		return false
	}
	if got.head != head || got.n != n {
		t.Fatalf("%q:\n got %q, %d %s\nwant %d %s", in, got.code, got.n, got.head, n, head)
	}
	if length != exchange.UnknownLength {
		if want := min(int64(len(in)), int64(n)+length); got.code != Complete || int64(got.used) != want {
			t.Fatalf("%q: %q, used %d, want %d", in, got.code, got.used, want)
		}
		return int64(len(in)) >= int64(n)+length
	}
	body, used, ok := oracleChunked(in[n:], lim)
	whole := got.code == Complete && !strings.HasSuffix(got.body, "...")
	if ok && (got.code != Complete || got.body != body || got.used != n+used) {
		t.Fatalf("%q: %q, body %q, used %d; want %q, %d", in, got.code, got.body, got.used, body, n+used)
	}
	if !ok && whole && got.body != "" {
		t.Fatalf("%q: body accepted, against the oracle: %q", in, got.body)
	}
	return ok
}

// stricter lists what this package accepts and net/http's ReadRequest does not; the
// fuzz target leaves these out. What net/http accepts and this package does not is
// the strictness that doc.go lists.
var stricter = []struct {
	reason string
	is     func(r *exchange.Request) bool
}{
	{"empty lines before a request are skipped by RFC 9112, 2.2", func(r *exchange.Request) bool { return r.Head[0] == '\r' }},
	{"net/url refuses escapes other than of non-ASCII bytes in a host, RFC 3986, 3.2.2 does not", func(r *exchange.Request) bool {
		return bytes.IndexByte(r.AuthorityBytes(), '%') >= 0 && r.TargetBytes()[0] != '/'
	}},
	{"net/url refuses some sub-delims and reads others apart in the authority of a target", func(r *exchange.Request) bool {
		return r.Target != r.Path && r.TargetBytes()[0] != '/' && bytes.ContainsAny(r.AuthorityBytes(), "!$&'()*+,;=~_")
	}},
}

// FuzzParseNetHTTP holds what the parser accepts to what net/http makes of it.
func FuzzParseNetHTTP(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p Parser
		p.Init(exchange.Limits{})
		var r exchange.Request
		n, code := p.Parse(&r, b)
		if code != Complete {
			return
		}
		for _, s := range stricter {
			if s.is(&r) {
				return
			}
		}
		theirs, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			t.Fatalf("%q: net/http: %v", b[:n], err)
		}
		if theirs.Method != string(r.MethodBytes()) || theirs.RequestURI != string(r.TargetBytes()) ||
			theirs.ProtoMajor != r.Version.Major() || min(theirs.ProtoMinor, 1) != r.Version.Minor() {
			t.Fatalf("%q: net/http: %s %s HTTP/%d.%d", b[:n], theirs.Method, theirs.RequestURI, theirs.ProtoMajor, theirs.ProtoMinor)
		}
		if theirs.Host != string(r.AuthorityBytes()) || theirs.URL.RawQuery != string(r.QueryBytes()) {
			t.Fatalf("%q: net/http: host %q, query %q", b[:n], theirs.Host, theirs.URL.RawQuery)
		}
		if r.Preface() {
			return // its content, of which net/http knows no length, belongs to who takes the connection over
		}
		chunked := r.ContentLength == exchange.UnknownLength
		if theirs.ContentLength != r.ContentLength || (len(theirs.TransferEncoding) == 1) != chunked {
			t.Fatalf("%q: net/http: length %d, codings %q", b[:n], theirs.ContentLength, theirs.TransferEncoding)
		}
		fields := 0
		for _, values := range theirs.Header {
			fields += len(values)
		}
		for _, f := range r.Fields {
			if f.ID == exchange.HeaderHost || f.ID == exchange.HeaderTransferEncoding || f.ID == exchange.HeaderTrailer {
				fields++ // net/http takes these out
			}
			name := string(f.Name.In(r.Head))
			if id := exchange.LookupHeader([]byte(name)); id != f.ID || id != 0 && id.String() != http.CanonicalHeaderKey(name) {
				t.Fatalf("%q: field %q has ID %v", b[:n], name, f.ID)
			}
		}
		if fields < len(r.Fields) {
			t.Fatalf("%q: net/http: %d fields, want %d", b[:n], fields, len(r.Fields))
		}
	})
}

// sizeBWS matches what RFC 9112, 7.1.1 tells recipients to read, and net/http
// refuses: whitespace between a size and the semicolon behind it.
var sizeBWS = regexp.MustCompile(`[0-9A-Fa-f][ \t]+;`)

// FuzzChunkedNetHTTP holds chunked content that the decoder accepts to what net/http
// makes of it.
func FuzzChunkedNetHTTP(f *testing.F) {
	for _, s := range []string{
		"0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "1;a=b\r\nx\r\n00;c=\"d\"\r\nA: b\r\n\r\n", "a ;b\r\n0123456789\r\n0\r\n\r\n", "5\nhello\r\n0\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got := read(exchange.Limits{}, chunkedPost(string(b)), nil)
		content, trailers, _ := strings.Cut(got.body, "|")
		if got.code != Complete || strings.HasSuffix(got.body, "...") || trailers != "" || sizeBWS.Match(b) {
			return
		}
		theirs, err := io.ReadAll(httputil.NewChunkedReader(bytes.NewReader(b)))
		if err != nil || !strings.HasPrefix(string(theirs), content) {
			t.Fatalf("%q: net/http: %q, %v; want %q", b, theirs, err, content)
		}
	})
}
