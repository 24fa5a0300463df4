package nethttptest

import (
	"log/slog"
	"net/http"
	"sync"

	"github.com/redline-go/redline"
)

// newRedline is a Redline server with the fields of an http.Server.
func newRedline(transport redline.Transport, fields *http.Server) *redline.Server {
	return &redline.Server{
		Transport: transport, Loops: 1, Logger: slog.New(slog.DiscardHandler),
		Addr: fields.Addr, Handler: fields.Handler, ErrorLog: fields.ErrorLog, MaxHeaderBytes: fields.MaxHeaderBytes,
		ReadTimeout: fields.ReadTimeout, ReadHeaderTimeout: fields.ReadHeaderTimeout, WriteTimeout: fields.WriteTimeout, IdleTimeout: fields.IdleTimeout,
		ConnState: fields.ConnState, BaseContext: fields.BaseContext, ConnContext: fields.ConnContext,
		DisableGeneralOptionsHandler: fields.DisableGeneralOptionsHandler, Protocols: fields.Protocols,
		TLSConfig: fields.TLSConfig,
	}
}

// newMounted is a Redline server whose http.Handler is mounted on a native router.
func newMounted(transport redline.Transport, fields *http.Server) *redline.Server {
	s := newRedline(transport, fields)
	router, h := redline.NewRouter(), fields.Handler
	if h == nil {
		h = http.DefaultServeMux
	}
	router.Mount("", h)
	s.Handler, s.Native, s.Limits.MaxBodyBytes = nil, router.Serve, -1
	return s
}

// takesAll is the transport that takes every listener.
const takesAll = redline.TransportStd

// mounted is what the engine is called whose servers are those of newMounted.
const mounted = "mounted"

// candidates are the engines that are held to net/http: Redline on every transport
// that this system allows, and with a router in between.
var candidates = sync.OnceValue(func() (engines []engine) {
	var last redline.Transport
	for _, transport := range []redline.Transport{redline.TransportUring, redline.TransportStd, redline.TransportEpoll} {
		probe := newRedline(transport, new(http.Server))
		_, err := probe.Listen("127.0.0.1:0")
		if probe.Close(); err == nil {
			engines = append(engines, engine{string(transport), func(fields *http.Server) server { return newRedline(transport, fields) }})
			last = transport
		}
	}
	return append(engines, engine{mounted, func(fields *http.Server) server { return newMounted(last, fields) }})
})
