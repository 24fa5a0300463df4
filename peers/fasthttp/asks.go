package main

import (
	"github.com/redline-go/redline/peers/internal/backend"
	"github.com/valyala/fasthttp"
)

// asks contains the handlers that query a backend before they answer.
type asks struct{ *backend.Backends }

func (a asks) redis(ctx *fasthttp.RequestCtx) {
	value, err := a.Redis(ctx)
	said(ctx, value, err)
}

func (a asks) postgres(ctx *fasthttp.RequestCtx) {
	value, err := a.Postgres(ctx)
	said(ctx, value, err)
}

func (a asks) fanout(ctx *fasthttp.RequestCtx) {
	joined, err := a.Fanout(ctx, string(ctx.QueryArgs().Peek("wait")))
	said(ctx, joined, err)
}

// said answers with what a backend said.
func said(ctx *fasthttp.RequestCtx, text string, err error) {
	if err != nil {
		ctx.Error(err.Error(), backend.Status(err))
		return
	}
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(text)
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
