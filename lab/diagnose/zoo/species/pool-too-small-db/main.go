// Command invoices shows invoices from a database.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
	_ "github.com/redline-go/redline/lab/diagnose/zoo/tabledb" // the driver
)

// Invoice is one invoice.
type Invoice struct {
	Number string `json:"number"`
	Text   string `json:"text"`
}

// Repository reads invoices.
type Repository struct{ db *sql.DB }

// Invoice reads one invoice, nil if there is none.
func (r *Repository) Invoice(ctx context.Context, number string) (*Invoice, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var i Invoice
	err := r.db.QueryRowContext(ctx, "select number, text from invoices where number = ?", number).Scan(&i.Number, &i.Text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read invoice %s: %w", number, err)
	}
	return &i, nil
}

func main() {
	db, err := open(service.Backend())
	if err != nil {
		log.Fatal(err)
	}
	repository := &Repository{db}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET("/healthz", func(c *gin.Context) { c.Status(http.StatusOK) })
	router.GET("/invoices", func(c *gin.Context) {
		number := c.DefaultQuery("number", fmt.Sprintf("R-%06d", rand.IntN(1_000_000)))
		invoice, err := repository.Invoice(c.Request.Context(), number)
		switch {
		case err != nil:
			c.String(http.StatusInternalServerError, err.Error())
		case invoice == nil:
			c.String(http.StatusNotFound, "no such invoice")
		default:
			c.JSON(http.StatusOK, invoice)
		}
	})
	router.GET("/debug/pprof/*name", gin.WrapF(pprof.Index))
	service.Main(router)
}
