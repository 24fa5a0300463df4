//go:build !twin

package main

import "time"

// within asks the carrier, and gives up after a while.
func (c *carrier) within(limit time.Duration, country string) quote {
	answer := make(chan quote)
	go func() {
		answer <- c.ask(country)
	}()
	select {
	case q := <-answer:
		return q
	case <-time.After(limit):
		return table(country)
	}
}
