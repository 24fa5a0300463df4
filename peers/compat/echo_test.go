package compat_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// TestEcho runs an application with echo's own middleware, binder and renderers.
func TestEcho(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		s := c.start(t, echoApp(r))
		r.get(t, s, "/users/7?q=a%26b")
		r.get(t, s, "/users/7", "Origin: http://example.com", "Accept-Encoding: gzip")
		r.do(t, s, "OPTIONS", "/users/7", nil, "Origin: http://example.com", "Access-Control-Request-Method: PUT")
		r.do(t, s, "PUT", "/users/7", strings.NewReader(`{"name":"ada"}`), "Content-Type: application/json")
		r.do(t, s, "PUT", "/users/7", strings.NewReader(`<user><name>ada</name></user>`), "Content-Type: application/xml")
		r.do(t, s, "PUT", "/users/7", strings.NewReader(`{"name":`), "Content-Type: application/json")
		r.do(t, s, "PUT", "/users/7", strings.NewReader(strings.Repeat("x", 5000)), "Content-Type: application/json")
		r.do(t, s, "PUT", "/users/7", unsized{strings.NewReader(strings.Repeat(" ", 5000))}, "Content-Type: application/json")
		r.get(t, s, "/v1/users/7")
		r.get(t, s, "/slash/")
		r.get(t, s, "/blob", "Accept-Encoding: gzip")
		r.get(t, s, "/blob")
		r.get(t, s, "/teapot")
		r.get(t, s, "/error")
		r.get(t, s, "/panic")
		r.get(t, s, "/slow")
		r.do(t, s, "DELETE", "/blob", nil)
		r.get(t, s, "/nowhere")
	})
}

// unsized is a body whose length the client does not know: it is chunked.
type unsized struct{ *strings.Reader }

func echoApp(r *report) http.Handler {
	e := echo.New()
	e.IPExtractor = echo.ExtractIPDirect()
	e.Logger.SetOutput(&journal{})
	e.Pre(middleware.RemoveTrailingSlash(), middleware.Rewrite(map[string]string{"/v1/*": "/$1"}))
	e.Use(middleware.RequestLoggerWithConfig(middleware.RequestLoggerConfig{
		LogStatus: true, LogURI: true, LogRemoteIP: true, LogRoutePath: true, LogContentLength: true, LogResponseSize: true, LogError: true,
		HandleError: true,
		LogValuesFunc: func(_ echo.Context, v middleware.RequestLoggerValues) error {
			r.add("%d %s %s %s %q %d %v", v.Status, v.URI, v.RemoteIP, v.RoutePath, v.ContentLength, v.ResponseSize, v.Error)
			return nil
		},
	}))
	e.Use(middleware.RecoverWithConfig(middleware.RecoverConfig{DisablePrintStack: true}), middleware.CORS(), middleware.Secure(), middleware.BodyLimit("4K"),
		middleware.GzipWithConfig(middleware.GzipConfig{MinLength: 1000}))
	type user struct {
		ID   int    `param:"id" json:"id" xml:"id"`
		Name string `json:"name" xml:"name"`
	}
	e.GET("/users/:id", func(c echo.Context) error {
		return c.JSON(http.StatusOK, echo.Map{"id": c.Param("id"), "q": c.QueryParam("q"), "scheme": c.Scheme(), "path": c.Path()})
	})
	e.PUT("/users/:id", func(c echo.Context) error {
		var u user
		if err := c.Bind(&u); err != nil {
			return err
		}
		return c.XML(http.StatusOK, u)
	})
	e.GET("/slash", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	e.GET("/blob", func(c echo.Context) error {
		return c.Blob(http.StatusOK, "text/plain", []byte(strings.Repeat("0123456789", 5000)))
	})
	e.GET("/teapot", func(echo.Context) error { return echo.NewHTTPError(http.StatusTeapot, "short and stout") })
	e.GET("/error", func(echo.Context) error { return errors.New("of the application") })
	e.GET("/panic", func(echo.Context) error { panic("of the application") })
	e.GET("/slow", func(c echo.Context) error {
		<-c.Request().Context().Done()
		return c.Request().Context().Err()
	}, middleware.ContextTimeout(10*time.Millisecond))
	return e
}

// TestEchoStreams flushes through echo's gzip and hijacks through its response.
func TestEchoStreams(t *testing.T) {
	compare(t, func(t *testing.T, c carrier, r *report) {
		next := make(chan string)
		e := echo.New()
		e.Use(middleware.Gzip())
		e.GET("/events", func(c echo.Context) error {
			w := c.Response()
			w.Header().Set(echo.HeaderContentType, "text/event-stream")
			w.WriteHeader(http.StatusOK)
			for event := range next {
				if _, err := fmt.Fprintln(w, event); err != nil {
					return err
				}
				w.Flush()
			}
			return nil
		})
		e.GET("/hijack", func(c echo.Context) error {
			conn, rw, err := c.Response().Hijack()
			if err != nil {
				return err
			}
			defer conn.Close()
			echoLines(rw)
			return nil
		})
		s := c.start(t, e)
		playEvents(t, r, s, "/events", next)
		playHijack(t, r, s, "/hijack", "early\n", "and again\n")
	})
}
