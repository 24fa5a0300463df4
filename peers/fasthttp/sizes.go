package main

import (
	"encoding/json"

	"github.com/redline-go/redline/peers/internal/subject"
	"github.com/valyala/fasthttp"
)

func sized(ctx *fasthttp.RequestCtx) {
	body, err := subject.Bytes(string(ctx.QueryArgs().Peek("size")))
	if err != nil {
		ctx.Error(err.Error(), fasthttp.StatusBadRequest)
		return
	}
	ctx.SetContentType("application/octet-stream")
	ctx.Response.SetBodyRaw(body)
}

func order(ctx *fasthttp.RequestCtx) {
	var o subject.Order
	if err := json.NewDecoder(limited(ctx)).Decode(&o); err != nil {
		bodyError(ctx, err)
		return
	}
	ctx.SetContentType("application/json")
	if err := json.NewEncoder(ctx).Encode(o.Receipt()); err != nil {
		ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
	}
}
