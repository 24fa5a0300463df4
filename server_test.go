package redline_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/redline-go/redline"
)

// TestSentinels wants the errors of methods to be those that can be compared with.
func TestSentinels(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Native: func(c *redline.Ctx) {
			if _, err := c.ReadBody(3); !errors.Is(err, redline.ErrBodyTooLong) {
				t.Errorf("ReadBody: %v", err)
			}
			for what, e := range map[string]struct{ got, want error }{
				"a name":             {c.SetHeader("a b", "c"), redline.ErrFieldName},
				"a name, added":      {c.AddHeader("", "c"), redline.ErrFieldName},
				"a value":            {c.SetHeader("a", "b\r\nc"), redline.ErrFieldValue},
				"framing":            {c.SetHeader("Content-Length", "1"), redline.ErrFraming},
				"framing, added":     {c.AddHeader("transfer-encoding", "chunked"), redline.ErrFraming},
				"a trailer":          {c.SetTrailer("Set-Cookie", "a=b"), redline.ErrFraming},
				"a type":             {c.Bytes(200, "a\n", nil), redline.ErrFieldValue},
				"a type, not copied": {c.BytesNoCopy(200, "a\n", nil), redline.ErrFieldValue},
				"a location":         {c.Redirect(302, "/\n"), redline.ErrFieldValue},
				"a file":             {c.SendFile(nil, 0, 0), os.ErrInvalid},
			} {
				if !errors.Is(e.got, e.want) {
					t.Errorf("%s: %v, want %v", what, e.got, e.want)
				}
			}
			noError(t, c.Flush())
			for what, err := range map[string]error{
				"SetHeader": c.SetHeader("a", "b"), "AddHeader": c.AddHeader("a", "b"),
				"Redirect": c.Redirect(302, "/"), "SetCookie": c.SetCookie(&http.Cookie{Name: "a", Value: "b"}), "Inform": c.Inform(103),
			} {
				if !errors.Is(err, redline.ErrHeadSent) {
					t.Errorf("%s behind the head: %v", what, err)
				}
			}
			if _, err := c.Hijack(); !errors.Is(err, redline.ErrHeadSent) {
				t.Errorf("Hijack behind the head: %v", err)
			}
		}})
		submit(t, r, "POST", "/", "body", "Content-Length: 4")
		_, err := r.Listen("127.0.0.1:0")
		for what, err := range map[string]error{"Listen": err, "Run": r.Run(), "Serve": r.Serve(loopback(t)), "Adopt": r.Adopt(loopback(t))} {
			if !errors.Is(err, redline.ErrServerRunning) || !strings.Contains(err.Error(), "before") {
				t.Errorf("%s of a server that runs: %v", what, err)
			}
		}
	})
	if redline.ErrAbort != http.ErrAbortHandler || redline.ErrServerClosed != http.ErrServerClosed {
		t.Error("net/http's errors are others")
	}
}

// TestAbort has handlers of both kinds cut their connection with net/http's error.
func TestAbort(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		router := redline.NewRouter()
		router.GET("/native", func(*redline.Ctx) { panic(http.ErrAbortHandler) })
		router.Mount("/mounted", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(redline.ErrAbort) }))
		r := serve(t, &redline.Server{Transport: transport, Native: router.Serve})
		for _, path := range []string{"/native", "/mounted"} {
			c := r.dial()
			c.ask(path)
			c.wantGone()
		}
		if log := r.log.String(); log != "" {
			t.Errorf("it is logged: %s", log)
		}
	})
}
