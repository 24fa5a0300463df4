package main

import (
	"github.com/gofiber/fiber/v3"
	"github.com/redline-go/redline/peers/internal/backend"
)

// asks contains the handlers that query a backend before they answer.
type asks struct{ *backend.Backends }

func (a asks) redis(c fiber.Ctx) error {
	value, err := a.Redis(c.Context())
	return said(c, value, err)
}

func (a asks) postgres(c fiber.Ctx) error {
	value, err := a.Postgres(c.Context())
	return said(c, value, err)
}

func (a asks) fanout(c fiber.Ctx) error {
	joined, err := a.Fanout(c.Context(), c.Query("wait"))
	return said(c, joined, err)
}

// said answers with what a backend said.
func said(c fiber.Ctx, text string, err error) error {
	if err != nil {
		return fiber.NewError(backend.Status(err), err.Error())
	}
	return c.SendString(text)
}

func (a asks) wait(c fiber.Ctx) error {
	if err := a.Wait(c.Query("wait")); err != nil {
		return fiber.NewError(backend.Status(err), err.Error())
	}
	return plaintext(c)
}

func burn(c fiber.Ctx) error {
	if err := backend.Burn(c.Query("rounds")); err != nil {
		return fiber.NewError(backend.Status(err), err.Error())
	}
	return plaintext(c)
}
