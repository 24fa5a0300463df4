package pushmount

import (
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/labstack/echo/v4"
	"github.com/redline-go/redline/push"
	"github.com/redline-go/redline/push/pushtest"
)

// routers mount a handler at all paths, each with middleware that wraps the ResponseWriter.
var routers = map[string]func(*push.Handler) http.Handler{
	"chi": func(h *push.Handler) http.Handler {
		r := chi.NewRouter()
		r.Use(middleware.Recoverer, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(middleware.NewWrapResponseWriter(w, r.ProtoMajor), r)
			})
		})
		r.Handle("/*", h)
		return r
	},
	"echo": func(h *push.Handler) http.Handler {
		e := echo.New()
		e.Any("/*", echo.WrapHandler(h))
		return e
	},
	"gin": func(h *push.Handler) http.Handler {
		gin.SetMode(gin.ReleaseMode)
		e := gin.New()
		e.Use(gin.Recovery())
		e.Any("/*any", gin.WrapH(h))
		return e
	},
}

func TestRouters(t *testing.T) {
	for name, route := range routers {
		for server, serve := range pushtest.Servers {
			t.Run(name+"/"+server, func(t *testing.T) {
				pushtest.Handler(t, func(t *testing.T, h *push.Handler) string { return serve(t, route(h)) })
			})
		}
	}
}
