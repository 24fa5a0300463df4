// Command signup checks the forms of new users.
package main

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
)

// Form is what a new user sends.
type Form struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	Phone string `json:"phone"`
	Code  string `json:"code"`
	Site  string `json:"site"`
}

// The formats of the fields.
const (
	emailFormat = `^[a-zA-Z0-9._%+-]{1,64}@(?:[a-zA-Z0-9-]{1,63}\.)+[a-zA-Z]{2,18}$`
	phoneFormat = `^\+?[0-9]{1,3}[ -]?(?:\([0-9]{1,5}\))?[0-9 -]{4,15}$`
	codeFormat  = `^[A-Z]{1,2}[ -]?[0-9]{4,6}$`
	siteFormat  = `^https?://[a-z0-9.-]+(?::[0-9]+)?(?:/[^\s]*)?$`
)

// wrong lists the fields that are not in their format.
func (f *Form) wrong() []string {
	var fields []string
	if strings.TrimSpace(f.Name) == "" {
		fields = append(fields, "name")
	}
	if !validEmail(f.Email) {
		fields = append(fields, "email")
	}
	if !validPhone(f.Phone) {
		fields = append(fields, "phone")
	}
	if !validCode(f.Code) {
		fields = append(fields, "code")
	}
	if f.Site != "" && !validSite(f.Site) {
		fields = append(fields, "site")
	}
	return fields
}

func main() {
	e := echo.New()
	e.HideBanner = true
	e.GET("/healthz", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	e.POST("/signup", func(c echo.Context) error {
		var f Form
		if err := c.Bind(&f); err != nil {
			return err
		}
		if wrong := f.wrong(); len(wrong) > 0 {
			return c.JSON(http.StatusUnprocessableEntity, map[string]any{"wrong": wrong})
		}
		return c.JSON(http.StatusCreated, map[string]string{"welcome": f.Name})
	})
	service.Main(e)
}
