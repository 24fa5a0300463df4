package compat_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"
)

// TestGin runs an application with gin's own middleware, bindings and renderers.
func TestGin(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "page.txt"), pattern(300_000), 0o600); err != nil {
		t.Fatal(err)
	}
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, "page.txt"), when, when); err != nil {
		t.Fatal(err)
	}
	compare(t, func(t *testing.T, c carrier, r *report) {
		access := new(journal)
		s := c.start(t, ginApp(t, r, access, dir))
		r.get(t, s, "/user/gopher%20x?times=3")
		r.get(t, s, "/user/gopher?times=often")
		r.do(t, s, "POST", "/order", strings.NewReader(`{"item":"tea","count":2}`), "Content-Type: application/json")
		r.do(t, s, "POST", "/order", strings.NewReader(`{"item":""}`), "Content-Type: application/json")
		r.do(t, s, "POST", "/order", strings.NewReader(url.Values{"item": {"tea"}, "count": {"3"}}.Encode()), "Content-Type: application/x-www-form-urlencoded")
		form, kind := ginForm(t)
		r.do(t, s, "POST", "/files", form, "Content-Type: "+kind)
		r.get(t, s, "/static/page.txt")
		r.get(t, s, "/static/page.txt", "Range: bytes=100-199")
		r.get(t, s, "/static/page.txt", "If-Modified-Since: "+when.Format(http.TimeFormat))
		r.get(t, s, "/static/none.txt")
		r.get(t, s, "/attachment")
		r.get(t, s, "/reader")
		r.get(t, s, "/xml")
		r.get(t, s, "/cookie", "Cookie: seen=yes")
		r.get(t, s, "/redirect?a=b")
		r.get(t, s, "/admin/x", "Authorization: Basic cm9vdDpzZWNyZXQ=")
		r.get(t, s, "/admin/x")
		r.get(t, s, "/panic")
		r.do(t, s, "DELETE", "/xml", nil)
		r.get(t, s, "/nowhere")
		r.add("%s", access)
	})
}

// TestGinH2C runs an application that speaks HTTP/2 in clear within its handler, on
// connections that it takes over.
func TestGinH2C(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		e := gin.New()
		e.UseH2C = true
		e.POST("/echo", func(c *gin.Context) {
			body, err := c.GetRawData()
			if err != nil {
				_ = c.AbortWithError(http.StatusBadRequest, err)
				return
			}
			c.String(http.StatusOK, "%s %s", c.Request.Proto, body)
		})
		s := c.start(t, e.Handler())
		r.do(t, s, "POST", "/echo", strings.NewReader("over HTTP/1"))
		over2 := new(http.Protocols)
		over2.SetUnencryptedHTTP2(true)
		s.client.CloseIdleConnections()
		s.client.Transport = &http.Transport{Protocols: over2}
		t.Cleanup(s.client.CloseIdleConnections)
		r.do(t, s, "POST", "/echo", strings.NewReader("over HTTP/2"))
		r.do(t, s, "POST", "/echo", bytes.NewReader(pattern(300_000)))
		r.get(t, s, "/nowhere")
	})
}

// order is what POST /order binds.
type order struct {
	Item  string `json:"item" form:"item" binding:"required"`
	Count int    `json:"count" form:"count" binding:"min=1"`
}

func ginApp(t *testing.T, r *report, access io.Writer, dir string) http.Handler {
	e := gin.New()
	e.HandleMethodNotAllowed = true
	if err := e.SetTrustedProxies(nil); err != nil {
		t.Fatal(err)
	}
	logged := gin.LoggerWithConfig(gin.LoggerConfig{Output: access, Formatter: func(p gin.LogFormatterParams) string {
		return fmt.Sprintf("%s %s %s %d %d %v\n", p.ClientIP, p.Method, p.Path, p.StatusCode, p.BodySize, p.ErrorMessage)
	}})
	e.Use(logged, gin.RecoveryWithWriter(io.Discard))
	e.GET("/user/:name", func(c *gin.Context) {
		var q struct {
			Times int `form:"times"`
		}
		if err := c.BindQuery(&q); err != nil {
			return
		}
		c.JSON(http.StatusOK, gin.H{"name": c.Param("name"), "times": q.Times, "path": c.FullPath()})
	})
	e.POST("/order", func(c *gin.Context) {
		var o order
		if err := c.ShouldBind(&o); err != nil {
			c.AbortWithError(http.StatusUnprocessableEntity, err).SetType(gin.ErrorTypeBind)
			return
		}
		c.IndentedJSON(http.StatusCreated, o)
	})
	e.POST("/files", func(c *gin.Context) {
		f, err := c.FormFile("file")
		if err != nil {
			c.String(http.StatusBadRequest, "%v", err)
			return
		}
		c.String(http.StatusOK, "%s of %d bytes, note %q", f.Filename, f.Size, c.PostForm("note"))
	})
	e.Static("/static", dir)
	e.GET("/attachment", func(c *gin.Context) { c.FileAttachment(filepath.Join(dir, "page.txt"), "of yours.txt") })
	e.GET("/reader", func(c *gin.Context) {
		c.DataFromReader(http.StatusOK, 100_000, "application/octet-stream", bytes.NewReader(pattern(100_000)), map[string]string{"X-Extra": "1"})
	})
	e.GET("/xml", func(c *gin.Context) { c.XML(http.StatusOK, order{"tea", 1}) })
	e.GET("/cookie", func(c *gin.Context) {
		seen, err := c.Cookie("seen")
		r.add("cookie %q, %v, remote %s", seen, err, c.RemoteIP())
		c.SetCookie("seen", "again", 60, "/", "example.com", true, true)
		c.Status(http.StatusAccepted)
	})
	e.GET("/redirect", func(c *gin.Context) { c.Redirect(http.StatusFound, "/xml?"+c.Request.URL.RawQuery) })
	e.Group("/admin", gin.BasicAuth(gin.Accounts{"root": "secret"})).GET("/*rest", func(c *gin.Context) {
		c.String(http.StatusOK, "%s for %v", c.Param("rest"), c.MustGet(gin.AuthUserKey))
	})
	e.GET("/panic", func(*gin.Context) { panic("of the application") })
	return e
}

// ginForm is a form with a file.
func ginForm(t *testing.T) (body io.Reader, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.SetBoundary("boundary"); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteField("note", "by the way"); err != nil {
		t.Fatal(err)
	}
	f, err := w.CreateFormFile("file", "big.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(pattern(200_000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b, w.FormDataContentType()
}

// TestGinStreams sends events, leaves them, and hijacks through gin's writer.
func TestGinStreams(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		next, gone := make(chan string), make(chan bool, 1)
		e := gin.New()
		e.GET("/events", func(c *gin.Context) {
			c.Stream(func(w io.Writer) bool {
				event, more := <-next
				if more {
					c.SSEvent("tick", event)
				}
				return more
			})
		})
		e.GET("/forever", func(c *gin.Context) {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			gone <- c.Stream(func(w io.Writer) bool {
				<-tick.C
				fmt.Fprintln(w, "tick")
				return true
			})
		})
		e.GET("/hijack", func(c *gin.Context) { hijackEcho(c.Writer, c.Request) })
		s := c.start(t, e)
		playEvents(t, r, s, "/events", next)
		playHijack(t, r, s, "/hijack", "early\n", "and again\n")
		w := s.wire(t)
		w.send(t, "GET /forever HTTP/1.1\r\nHost: a\r\n\r\n")
		resp, err := http.ReadResponse(w.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.add("%s %s", resp.Status, lines(t, resp.Body)())
		w.Close()
		r.add("the client is gone: %v", within(t, gone, "the end of the stream"))
	})
}
