package main

import (
	"context"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/protocol/consts"
	"github.com/redline-go/redline/peers/internal/backend"
)

// asks contains the handlers that query a backend before they answer.
type asks struct{ *backend.Backends }

func (a asks) redis(ctx context.Context, c *app.RequestContext) {
	value, err := a.Redis(ctx)
	said(c, value, err)
}

func (a asks) postgres(ctx context.Context, c *app.RequestContext) {
	value, err := a.Postgres(ctx)
	said(c, value, err)
}

func (a asks) fanout(ctx context.Context, c *app.RequestContext) {
	joined, err := a.Fanout(ctx, c.Query("wait"))
	said(c, joined, err)
}

// said answers with what a backend said.
func said(c *app.RequestContext, text string, err error) {
	if err != nil {
		c.String(backend.Status(err), err.Error())
		return
	}
	c.Data(consts.StatusOK, textPlain, []byte(text))
}

func (a asks) wait(ctx context.Context, c *app.RequestContext) {
	if err := a.Wait(c.Query("wait")); err != nil {
		c.String(backend.Status(err), err.Error())
		return
	}
	plaintext(ctx, c)
}

func burn(ctx context.Context, c *app.RequestContext) {
	if err := backend.Burn(c.Query("rounds")); err != nil {
		c.String(backend.Status(err), err.Error())
		return
	}
	plaintext(ctx, c)
}
