package main

import (
	"github.com/gofiber/fiber/v3"
	"github.com/redline-go/redline/peers/internal/subject"
)

func sized(c fiber.Ctx) error {
	body, err := subject.Bytes(c.Query("size"))
	if err != nil {
		return fiber.NewError(fiber.StatusBadRequest, err.Error())
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEOctetStream)
	return c.Send(body)
}

func order(c fiber.Ctx) error {
	var o subject.Order
	if err := c.Bind().JSON(&o); err != nil {
		c.RequestCtx().SetConnectionClose()
		return fiber.NewError(fiber.StatusBadRequest, err.Error())
	}
	return c.JSON(o.Receipt())
}
