package conformance

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
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
			cases += play(t, v, group, cfg)
		}
		if t.Logf("%d cases", cases); cases < 140 {
			t.Errorf("h2spec ran %d cases; the suite has more", cases)
		}
	})
}

// play plays each case of a group, and returns their number. TestGroup.Test would end the process
// when a connection fails.
func play(t *testing.T, v variant, group *spec.TestGroup, cfg *config.Config) (cases int) {
	for i, c := range slices.Concat(group.Tests, group.StrictTests) {
		cases++
		id := fmt.Sprintf("%s/%d", group.ID(), i+1)
		reason := expectation(h2specExpected[id], v)
		if err := playInTime(t, c, i+1, cfg, reason != ""); err != nil {
			t.Errorf("%s %s (%s): %v", id, c.Desc, c.Requirement, err)
		} else if reason != "" {
			t.Logf("%s %s: fails as expected: %s", id, c.Desc, reason)
		}
	}
	for _, g := range group.Groups {
		cases += play(t, v, g, cfg)
	}
	return cases
}

// playInTime plays a case that is to pass or to fail. When it does the other, it is played again
// with more time: the machine may have been too slow for it.
func playInTime(t *testing.T, c *spec.TestCase, number int, cfg *config.Config, fails bool) (err error) {
	for _, timeout := range []time.Duration{cfg.Timeout, 4 * cfg.Timeout, 16 * cfg.Timeout} {
		patient := *cfg
		patient.Timeout = timeout
		c.Result = nil
		quietly(t, func() { err = c.Test(&patient, number) })
		switch r := c.Result; {
		case err != nil:
		case r == nil:
			err = errors.New("it was not played")
		case r.Skipped:
			err = errors.New("skipped by h2spec: the handler does not give it what it needs")
		case r.Failed && !fails:
			err = errors.New(strings.ReplaceAll(r.Error.Error(), "\n", "; "))
		case !r.Failed && fails:
			err = errors.New("passes: remove it from the expected failures")
		default:
			return nil
		}
		t.Logf("%s within %v: %v", c.Desc, timeout, err)
	}
	return err
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
