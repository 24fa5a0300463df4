// Command account-page answers what a customer sees first: the account, and the last order.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	_ "net/http/pprof"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"golang.org/x/sync/errgroup"

	"github.com/redline-go/redline/lab/diagnose/zoo/service"
	_ "github.com/redline-go/redline/lab/diagnose/zoo/tabledb"
)

const (
	customers = 10_000
	timeout   = 5 * time.Second
)

// Store reads accounts and orders.
type Store struct{ db *sql.DB }

// one reads one value of a table.
func (s *Store) one(ctx context.Context, table, key string, to *string) error {
	rows, err := s.db.QueryContext(ctx, "select key, value from "+table+" where key = ?", table+"-"+key)
	if err != nil {
		return fmt.Errorf("read %s %s: %w", table, key, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(&key, to); err != nil {
			return err
		}
	}
	return rows.Err()
}

// page reads what the page of a customer needs.
func (s *Store) page(ctx context.Context, customer string) (account, order string, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return s.one(ctx, "accounts", customer, &account) })
	err = s.one(ctx, "orders", customer, &order)
	if other := both.Wait(); other != nil {
		err = other
	}
	return account, order, err
}

func (s *Store) serve(c *gin.Context) {
	customer := c.Param("customer")
	if customer == "me" {
		customer = strconv.Itoa(rand.IntN(customers))
	}
	account, order, err := s.page(c.Request.Context(), customer)
	if err != nil {
		log.Print(err)
		c.String(http.StatusBadGateway, "the account is not available")
		return
	}
	b := strconv.AppendQuote([]byte(`{"account":`), account)
	b = strconv.AppendQuote(append(b, `,"order":`...), order)
	c.Data(http.StatusOK, "application/json", append(b, '}'))
}

func main() {
	db, err := sql.Open("tables", service.Backend())
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxIdleConns(1024)
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.GET("/healthz", func(c *gin.Context) { c.Status(http.StatusOK) })
	r.GET("/accounts/:customer", (&Store{db}).serve)
	service.MainAdmin(r, http.DefaultServeMux)
}
