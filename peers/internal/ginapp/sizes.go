package ginapp

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/redline-go/redline/peers/internal/subject"
)

func sized(c *gin.Context) {
	body, err := subject.Bytes(c.Query("size"))
	if err != nil {
		c.String(http.StatusBadRequest, err.Error())
		return
	}
	c.Header("Content-Length", strconv.Itoa(len(body)))
	c.Data(http.StatusOK, octetStream, body)
}

func order(c *gin.Context) {
	var o subject.Order
	if err := c.ShouldBindJSON(&o); err != nil {
		bodyError(c, err)
		return
	}
	c.JSON(http.StatusOK, o.Receipt())
}
