package echoapp

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	"github.com/redline-go/redline/peers/internal/subject"
)

func sized(c echo.Context) error {
	body, err := subject.Bytes(c.QueryParam("size"))
	if err != nil {
		return echo.NewHTTPError(http.StatusBadRequest, err.Error())
	}
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(body)))
	return c.Blob(http.StatusOK, echo.MIMEOctetStream, body)
}

func order(c echo.Context) error {
	var o subject.Order
	if err := c.Bind(&o); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, o.Receipt())
}
