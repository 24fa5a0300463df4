// Package pushfasthttp mounts a hub's handler on a server of github.com/valyala/fasthttp,
// which has no http.Handler:
//
//	events := pushfasthttp.Handler(hub.Handler(authorize))
//	fasthttp.ListenAndServe(":8080", func(ctx *fasthttp.RequestCtx) {
//		switch string(ctx.Path()) {
//		case "/events":
//			events(ctx)
//		...
//
// The library's own adaptor neither notices that a client has left nor cuts one that takes
// nothing, and a hub needs both.
package pushfasthttp
