package echoapp

import (
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/redline-go/redline/peers/internal/backend"
)

// asks contains the handlers that query a backend before they answer.
type asks struct{ *backend.Backends }

func (a asks) redis(c echo.Context) error {
	value, err := a.Redis(c.Request().Context())
	if err != nil {
		return echo.NewHTTPError(backend.Status(err), err.Error())
	}
	return c.String(http.StatusOK, value)
}

func (a asks) wait(c echo.Context) error {
	if err := a.Wait(c.QueryParam("wait")); err != nil {
		return echo.NewHTTPError(backend.Status(err), err.Error())
	}
	return plaintext(c)
}

func burn(c echo.Context) error {
	if err := backend.Burn(c.QueryParam("rounds")); err != nil {
		return echo.NewHTTPError(backend.Status(err), err.Error())
	}
	return plaintext(c)
}
