package redline_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redline-go/redline"
)

// TestAnswersAhead sends an answer that is complete however long the next request on the connection
// takes: its client may do its part for that one only then.
func TestAnswersAhead(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 2<<10)
	for name, lines := range map[string]string{
		"/inline": "", "/detached": "", "/blocking": "", "/learned": "", "/http": "", "/flushed": "",
		"/body": "Content-Length: 4\r\n", "/http/body": "Content-Length: 4\r\n", "/chunked": "Transfer-Encoding: chunked\r\n",
		"/unread": "Transfer-Encoding: chunked\r\n",
	} {
		t.Run(name[1:], func(t *testing.T) {
			onEach(t, func(t *testing.T, transport redline.Transport) {
				g := newGate()
				router := aheadRouter(g, large)
				r := serve(t, &redline.Server{Transport: transport, Native: router.Serve})
				if name == "/learned" {
					for range 4 {
						c := r.dial()
						c.send("POST /learned HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
						c.answer()
						c.Close()
					}
				}
				c := r.dial()
				get := "GET %s HTTP/1.1\r\nHost: h\r\n\r\n"
				c.send(get+get+get+"POST %s?gate=1 HTTP/1.1\r\nHost: h\r\n%s\r\n", "/small", "/large", "/small", name, lines)
				for _, want := range []string{"small", string(large), "small"} {
					if _, got := c.answer(); got != want {
						t.Fatalf("answer ahead: %.40q, want %.40q", got, want)
					}
				}
				close(g.open)
				want := "done"
				switch {
				case strings.HasPrefix(lines, "Content"):
					c.send("late")
					want = "late <nil>"
				case lines != "":
					c.send("4\r\nlate\r\n0\r\n\r\n")
					if name == "/chunked" {
						want = "late <nil>"
					}
				}
				if _, got := c.answer(); got != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
				c.want("/small", "small")
			})
		})
	}
}

// aheadRouter has quick routes, and some that wait at a gate or for their content.
func aheadRouter(g *gate, large []byte) *redline.Router {
	router := redline.NewRouter()
	read := func(c *redline.Ctx, r io.Reader) {
		b, err := io.ReadAll(r)
		c.Text(200, fmt.Sprintf("%s %v", b, err))
	}
	router.GET("/small", text("small"))
	router.GET("/large", func(c *redline.Ctx) { c.BytesNoCopy(200, "text/plain", large) })
	router.POST("/inline", func(c *redline.Ctx) { g.pass(); c.Text(200, "done") })
	router.POST("/detached", func(c *redline.Ctx) { c.Detach(); g.pass(); c.Text(200, "done") })
	router.POST("/blocking", redline.Blocking(func(c *redline.Ctx) { g.pass(); c.Text(200, "done") }))
	router.POST("/learned", func(c *redline.Ctx) {
		if time.Sleep(30 * time.Millisecond); c.Query("gate") != "" {
			g.pass()
		}
		c.Text(200, "done")
	})
	router.POST("/flushed", func(c *redline.Ctx) { c.WriteString("do"); g.pass(); c.WriteString("ne") })
	router.POST("/body", func(c *redline.Ctx) { read(c, c.Body()) })
	router.POST("/chunked", func(c *redline.Ctx) { read(c, c.Body()) })
	router.POST("/unread", redline.HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "done") })))
	router.POST("/http", redline.HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { g.pass(); io.WriteString(w, "done") })))
	router.POST("/http/body", redline.HTTP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %v", b, err)
	})))
	return router
}

// TestAnswersAheadInOrder has handlers take about as long as it takes until their loop is taken over,
// while answers to earlier requests wait: all arrive, whole and in order.
func TestAnswersAheadInOrder(t *testing.T) {
	onEach(t, func(t *testing.T, transport redline.Transport) {
		const clients, rounds, requests = 8, 6, 12
		router := redline.NewRouter()
		router.GET("/{n}/{us}/{size}", redline.Inline(func(c *redline.Ctx) {
			var us, size int
			fmt.Sscan(c.Param("us"), &us)
			fmt.Sscan(c.Param("size"), &size)
			time.Sleep(time.Duration(us) * time.Microsecond)
			c.Text(200, c.Param("n")+strings.Repeat("x", size))
		}))
		r := serve(t, &redline.Server{Transport: transport, Native: router.Serve, Loops: 2})
		var all sync.WaitGroup
		for range clients {
			c := r.dial()
			all.Go(func() {
				for range rounds {
					var paths, want []string
					for n := range requests {
						us, size := 0, rand.IntN(100)
						switch rand.IntN(4) {
						case 0:
							us = 500 + rand.IntN(3000)
						case 1:
							size = 1 << rand.IntN(16)
						}
						paths = append(paths, fmt.Sprintf("/%d/%d/%d", n, us, size))
						want = append(want, fmt.Sprint(n)+strings.Repeat("x", size))
					}
					c.ask(paths...)
					for i := range want {
						if status, got := c.answer(); status != 200 || got != want[i] {
							t.Errorf("answer %d: %d %.40q, want %.40q", i, status, got, want[i])
							return
						}
					}
				}
			})
		}
		all.Wait()
	})
}
