package compat_test

import (
	"log/slog"
	"net/http"
	"sync"

	"github.com/redline-go/redline"
)

// transports are those that this system allows.
var transports = sync.OnceValue(func() (names []redline.Transport) {
	for _, name := range []redline.Transport{redline.TransportUring, redline.TransportEpoll, redline.TransportStd} {
		probe := redline.Server{Transport: name, Native: func(*redline.Ctx) {}, Logger: slog.New(slog.DiscardHandler)}
		_, err := probe.Listen("127.0.0.1:0")
		if probe.Close(); err == nil {
			names = append(names, name)
		}
	}
	return names
})

// carriers are Redline's servers.
func carriers() (all []carrier) {
	for _, transport := range transports() {
		all = append(all, carrier{string(transport), func(like *http.Server) server {
			return &redline.Server{
				Transport: transport, Handler: like.Handler,
				ReadTimeout: like.ReadTimeout, ReadHeaderTimeout: like.ReadHeaderTimeout, WriteTimeout: like.WriteTimeout,
				IdleTimeout: like.IdleTimeout, MaxHeaderBytes: like.MaxHeaderBytes,
				ErrorLog: like.ErrorLog, BaseContext: like.BaseContext, ConnContext: like.ConnContext, ConnState: like.ConnState,
			}
		}})
	}
	return all
}
