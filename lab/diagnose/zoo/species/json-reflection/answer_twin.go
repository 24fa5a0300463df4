//go:build twin

package main

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

var texts = sync.Pool{New: func() any { b := make([]byte, 0, 64<<10); return &b }}

// answer writes the orders.
func answer(c echo.Context, orders []Order) error {
	text := texts.Get().(*[]byte)
	defer texts.Put(text)
	b := append((*text)[:0], '[')
	for i := range orders {
		if i > 0 {
			b = append(b, ',')
		}
		b = orders[i].appendJSON(b)
	}
	*text = append(b, ']', '\n')
	return c.Blob(http.StatusOK, "application/json", *text)
}

// appendJSON appends the order. Its texts have no characters that JSON escapes, except the note.
func (o *Order) appendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"id":`...), int64(o.ID), 10)
	b = append(append(b, `,"customer":"`...), o.Customer...)
	b = o.Placed.AppendFormat(append(b, `","placed":"`...), time.RFC3339Nano)
	b = append(append(b, `","status":"`...), o.Status...)
	b = strconv.AppendInt(append(b, `","cents":`...), o.Cents, 10)
	b = append(append(b, `,"currency":"`...), o.Currency...)
	b = strconv.AppendBool(append(b, `","paid":`...), o.Paid)
	b = append(b, `,"lines":[`...)
	for i := range o.Lines {
		if i > 0 {
			b = append(b, ',')
		}
		l := &o.Lines[i]
		b = append(append(b, `{"sku":"`...), l.SKU...)
		b = strconv.AppendInt(append(b, `","amount":`...), int64(l.Amount), 10)
		b = strconv.AppendInt(append(b, `,"cents":`...), l.Cents, 10)
		b = append(b, '}')
	}
	b = append(b, ']')
	if o.Note != "" {
		b = strconv.AppendQuote(append(b, `,"note":`...), o.Note)
	}
	return append(b, '}')
}
