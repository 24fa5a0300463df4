package conformance

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/generic"
	"github.com/summerwind/h2spec/hpack"
	"github.com/summerwind/h2spec/http2"
	"github.com/summerwind/h2spec/spec"

	"github.com/redline-go/redline"
)

// An expected failure of h2spec.
type expected struct {
	server string // "nethttp", "redline"
	secure string // "tls", "clear", or "" for both
	reason string
}

// h2specExpected has the cases of h2spec that fail, by the identifier that the test prints.
var h2specExpected = map[string][]expected{
	"http2/3.5/2":     {{"nethttp", "clear", "it closes while input is unread, which resets the connection; the case wants an orderly end"}},
	"http2/4.2/3":     {{"nethttp", "", "it accepts frames of 1 MiB, and the case sends fewer bytes"}},
	"http2/6.5.3/1":   {{"nethttp", "", "it closes the connection if a frame has the same setting twice"}},
	"http2/8.1.2.2/1": {{"nethttp", "", "it ignores connection-specific fields"}},
	"http2/8.1.2.2/2": {{"nethttp", "", "it ignores TE with other values than trailers"}},
}

// answer is long enough for the cases of flow control, which need more than a few bytes.
const answer = "The quick brown fox jumps over the lazy dog.\n"

func TestH2spec(t *testing.T) {
	onEach(t, true, func(t *testing.T, v variant) {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // a case that breaks it off is not the handler's concern
			_, _ = io.WriteString(w, answer)
		})
		native := func(c *redline.Ctx) {
			_, _ = io.Copy(io.Discard, c.Body())
			c.Text(200, answer)
		}
		addr := start(t, v, h, native).(*net.TCPAddr)
		cfg := &config.Config{
			Host: addr.IP.String(), Port: addr.Port, Path: "/", TLS: v.secure, Insecure: true,
			Timeout: 2 * time.Second, MaxHeaderLen: 4000, Strict: true,
		}
		cases := 0
		for _, group := range []*spec.TestGroup{generic.Spec(), http2.Spec(), hpack.Spec()} {
			quietly(t, func() { group.Test(cfg) })
			cases += judge(t, v, group)
		}
		if t.Logf("%d cases", cases); cases < 140 {
			t.Errorf("h2spec ran %d cases; the suite has more", cases)
		}
	})
}

// judge compares the outcome of each case of a group with what is expected. It returns the
// number of cases.
func judge(t *testing.T, v variant, group *spec.TestGroup) (cases int) {
	for _, c := range append(group.Tests, group.StrictTests...) {
		if c.Result == nil {
			continue
		}
		cases++
		id := fmt.Sprintf("%s/%d", group.ID(), c.Result.Sequence)
		reason := expectation(h2specExpected[id], v)
		switch r := c.Result; {
		case r.Skipped:
			t.Errorf("%s %s: skipped by h2spec: the handler does not give it what it needs", id, c.Desc)
		case r.Failed && reason == "":
			t.Errorf("%s %s (%s): %s", id, c.Desc, c.Requirement, strings.ReplaceAll(r.Error.Error(), "\n", "; "))
		case r.Failed:
			t.Logf("%s %s: fails as expected: %s", id, c.Desc, reason)
		case reason != "":
			t.Errorf("%s %s: passes: remove it from the expected failures", id, c.Desc)
		}
	}
	for _, g := range group.Groups {
		cases += judge(t, v, g)
	}
	return cases
}

// expectation returns why a case fails for a variant, or nothing.
func expectation(list []expected, v variant) string {
	for _, e := range list {
		if e.server == v.server && (e.secure == "" || (e.secure == "tls") == v.secure) {
			return e.reason
		}
	}
	return ""
}

// quietly discards what f prints: h2spec writes its progress to the standard output.
func quietly(t *testing.T, f func()) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	os.Stdout = null
	f()
}
