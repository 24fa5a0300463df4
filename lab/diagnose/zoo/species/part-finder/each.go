//go:build !twin

package main

import "strings"

// matches returns the parts whose names have a text in them.
func (c Catalogue) matches(text string) <-chan Part {
	found := make(chan Part)
	go func() {
		defer close(found)
		for i := range c {
			if strings.Contains(c[i].Name, text) {
				found <- c[i]
			}
		}
	}()
	return found
}

// each calls do with each part that matches, until it returns false.
func each(c Catalogue, text string, do func(Part) bool) {
	for p := range c.matches(text) {
		if !do(p) {
			return
		}
	}
}
