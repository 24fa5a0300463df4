package main

import (
	"context"

	"github.com/cloudwego/hertz/pkg/app"
	"github.com/cloudwego/hertz/pkg/protocol/consts"
	"github.com/redline-go/redline/peers/internal/subject"
)

func sized(_ context.Context, c *app.RequestContext) {
	body, err := subject.Bytes(c.Query("size"))
	if err != nil {
		c.String(consts.StatusBadRequest, err.Error())
		return
	}
	c.Data(consts.StatusOK, "application/octet-stream", body)
}

func order(_ context.Context, c *app.RequestContext) {
	var o subject.Order
	if err := c.BindJSON(&o); err != nil {
		bodyError(c, err)
		return
	}
	c.JSON(consts.StatusOK, o.Receipt())
}
