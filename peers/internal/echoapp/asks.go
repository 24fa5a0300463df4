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
	return said(c, value, err)
}

func (a asks) postgres(c echo.Context) error {
	value, err := a.Postgres(c.Request().Context())
	return said(c, value, err)
}

func (a asks) fanout(c echo.Context) error {
	joined, err := a.Fanout(c.Request().Context(), c.QueryParam("wait"))
	return said(c, joined, err)
}

// said answers with what a backend said.
func said(c echo.Context, text string, err error) error {
	if err != nil {
		return echo.NewHTTPError(backend.Status(err), err.Error())
	}
	return c.String(http.StatusOK, text)
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
