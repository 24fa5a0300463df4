package redline_test

import (
	"io"
	"strings"
	"testing"

	"github.com/redline-go/redline"
)

// TestHTTP10 answers clients of HTTP/1.0 in their version, whatever way the answer
// comes, and says of the connection only what does not go without saying.
func TestHTTP10(t *testing.T) {
	whole, err := redline.Prebuild(200, "text/plain", []byte("body"))
	noError(t, err)
	router := redline.NewRouter()
	router.GET("/text", text("body"))
	router.GET("/odd", func(c *redline.Ctx) { c.Text(599, "body") })
	router.GET("/prebuilt", func(c *redline.Ctx) { c.Send(whole) })
	router.GET("/close", func(c *redline.Ctx) {
		noError(t, c.SetHeader("Connection", "close"))
		c.Text(200, "body")
	})
	router.GET("/parts", func(c *redline.Ctx) {
		_, err := c.WriteString("bo")
		noError(t, err)
		noError(t, c.Flush())
		_, err = c.WriteString("dy")
		noError(t, err)
	})
	router.GET("/stream", func(c *redline.Ctx) {
		c.Stream(func(s *redline.Stream) {
			defer s.Close()
			_, err := io.WriteString(s, "body")
			noError(t, err)
		})
	})
	onEach(t, func(t *testing.T, transport redline.Transport) {
		r := serve(t, &redline.Server{Transport: transport, Native: router.Serve})
		for _, k := range []struct {
			method, path, ask string
			connection        string // what is said
			kept              bool
		}{
			{"GET", "/text", "", "", false},
			{"GET", "/text", "Connection: close\r\n", "", false},
			{"GET", "/text", "Connection: keep-alive\r\n", "keep-alive", true},
			{"HEAD", "/text", "Connection: keep-alive\r\n", "keep-alive", true},
			{"GET", "/odd", "Connection: keep-alive\r\n", "keep-alive", true},
			{"GET", "/prebuilt", "", "", false},
			{"GET", "/prebuilt", "Connection: keep-alive\r\n", "keep-alive", true},
			{"HEAD", "/prebuilt", "Connection: keep-alive\r\n", "keep-alive", true},
			{"HEAD", "/prebuilt", "", "", false},
			{"GET", "/close", "", "close", false},
			{"GET", "/close", "Connection: keep-alive\r\n", "close", false},
			{"GET", "/parts", "Connection: keep-alive\r\n", "", false},
			{"GET", "/stream", "Connection: keep-alive\r\n", "", false},
		} {
			c := r.dial()
			c.send("%s %s HTTP/1.0\r\n%s\r\n", k.method, k.path, k.ask)
			resp := c.responseTo(k.method)
			body, err := io.ReadAll(resp.Body)
			if resp.Proto != "HTTP/1.0" || strings.Join(resp.Header["Connection"], "|") != k.connection || err != nil {
				t.Errorf("%+v: %s, %v, %v", k, resp.Proto, resp.Header, err)
			}
			if want := map[string]string{"GET": "body"}[k.method]; string(body) != want {
				t.Errorf("%+v: %q", k, body)
			}
			if k.kept {
				c.want("/text", "body")
			} else {
				c.wantGone()
			}
		}
	})
}
