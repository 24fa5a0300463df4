// Package pushmount tests the ways to mount a hub's handler on frameworks. The handler needs
// no adapter where http.Handlers can be mounted, on net/http and on a redline.Server:
//
//	chi:  router.Handle("/events", handler)
//	echo: e.GET("/events", echo.WrapHandler(handler))
//	gin:  engine.GET("/events", gin.WrapH(handler))
//
// Mount it for HEAD and OPTIONS too, if pages of other origins may read the stream. For
// fasthttp, see package pushfasthttp.
package pushmount
