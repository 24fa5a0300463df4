package compat_test

import (
	"log/slog"
	"net/http"
	"sync"

	"github.com/redline-go/redline"
)

// carriers are Redline's servers on the transports that this system allows. A
// carrier that logs more than its ErrorLog gets says so to nobody: that it is the
// transport that was asked for.
var carriers = sync.OnceValue(func() (all []carrier) {
	for _, transport := range []string{redline.Uring, redline.Epoll, redline.Std} {
		probe := redline.Server{Transport: transport, Native: func(*redline.Ctx) {}, Logger: slog.New(slog.DiscardHandler)}
		_, err := probe.Listen("127.0.0.1:0")
		if probe.Close(); err != nil {
			continue
		}
		all = append(all, carrier{transport, func(like *http.Server) server {
			return &redline.Server{
				Transport: transport, Handler: like.Handler,
				ReadTimeout: like.ReadTimeout, ReadHeaderTimeout: like.ReadHeaderTimeout, WriteTimeout: like.WriteTimeout,
				IdleTimeout: like.IdleTimeout, MaxHeaderBytes: like.MaxHeaderBytes,
				ErrorLog: like.ErrorLog, BaseContext: like.BaseContext, ConnContext: like.ConnContext, ConnState: like.ConnState,
			}
		}})
	}
	return all
})
