package native

import (
	"errors"

	"github.com/redline-go/redline"
	"github.com/redline-go/redline/peers/internal/subject"
)

func sized(c *redline.Ctx) {
	body, err := subject.Bytes(c.Query("size"))
	if err != nil {
		c.Text(400, err.Error()+"\n")
		return
	}
	if err := c.BytesNoCopy(200, "application/octet-stream", body); err != nil {
		c.Error(500)
	}
}

func order(c *redline.Ctx) {
	var o subject.Order
	if err := c.ReadJSON(&o, subject.BodyLimit); err != nil {
		if errors.Is(err, redline.ErrBodyTooLong) {
			c.Error(413)
		} else {
			c.Error(400)
		}
		return
	}
	if err := c.JSON(200, o.Receipt()); err != nil {
		c.Error(500)
	}
}
