package native

import (
	"github.com/redline-go/redline"
	"github.com/redline-go/redline/peers/internal/backend"
)

// asks contains the handlers that query a backend before they answer.
type asks struct{ *backend.Backends }

func (a asks) redis(c *redline.Ctx) {
	value, err := a.Redis(c.Context())
	said(c, value, err)
}

func (a asks) postgres(c *redline.Ctx) {
	value, err := a.Postgres(c.Context())
	said(c, value, err)
}

func (a asks) fanout(c *redline.Ctx) {
	joined, err := a.Fanout(c.Context(), c.Query("wait"))
	said(c, joined, err)
}

// said answers with what a backend said.
func said(c *redline.Ctx, text string, err error) {
	if err != nil {
		c.Text(backend.Status(err), err.Error()+"\n")
		return
	}
	c.Text(200, text)
}

func (a asks) wait(c *redline.Ctx) {
	if err := a.Wait(c.Query("wait")); err != nil {
		c.Text(backend.Status(err), err.Error()+"\n")
		return
	}
	plaintext(c)
}

func burn(c *redline.Ctx) {
	if err := backend.Burn(c.Query("rounds")); err != nil {
		c.Text(backend.Status(err), err.Error()+"\n")
		return
	}
	plaintext(c)
}
