package main

import (
	"github.com/redline-go/redline/peers/internal/backend"
	"github.com/valyala/fasthttp"
)

// asks contains the handlers that query a backend before they answer.
type asks struct{ *backend.Backends }

func (a asks) redis(ctx *fasthttp.RequestCtx) {
	value, err := a.Redis(ctx)
	if err != nil {
		ctx.Error(err.Error(), backend.Status(err))
		return
	}
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(value)
}

func (a asks) wait(ctx *fasthttp.RequestCtx) {
	if err := a.Wait(string(ctx.QueryArgs().Peek("wait"))); err != nil {
		ctx.Error(err.Error(), backend.Status(err))
		return
	}
	plaintext(ctx)
}

func burn(ctx *fasthttp.RequestCtx) {
	if err := backend.Burn(string(ctx.QueryArgs().Peek("rounds"))); err != nil {
		ctx.Error(err.Error(), backend.Status(err))
		return
	}
	plaintext(ctx)
}
