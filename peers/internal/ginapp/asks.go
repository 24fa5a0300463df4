package ginapp

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/redline-go/redline/peers/internal/backend"
)

// asks contains the handlers that query a backend before they answer.
type asks struct{ *backend.Backends }

func (a asks) redis(c *gin.Context) {
	value, err := a.Redis(c.Request.Context())
	said(c, value, err)
}

func (a asks) postgres(c *gin.Context) {
	value, err := a.Postgres(c.Request.Context())
	said(c, value, err)
}

func (a asks) fanout(c *gin.Context) {
	joined, err := a.Fanout(c.Request.Context(), c.Query("wait"))
	said(c, joined, err)
}

// said answers with what a backend said.
func said(c *gin.Context, text string, err error) {
	if err != nil {
		c.String(backend.Status(err), err.Error())
		return
	}
	c.Data(http.StatusOK, textPlain, []byte(text))
}

func (a asks) wait(c *gin.Context) {
	if err := a.Wait(c.Query("wait")); err != nil {
		c.String(backend.Status(err), err.Error())
		return
	}
	plaintext(c)
}

func burn(c *gin.Context) {
	if err := backend.Burn(c.Query("rounds")); err != nil {
		c.String(backend.Status(err), err.Error())
		return
	}
	plaintext(c)
}
