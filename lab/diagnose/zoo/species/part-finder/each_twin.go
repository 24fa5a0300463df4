//go:build twin

package main

import (
	"iter"
	"strings"
)

// matches returns the parts whose names have a text in them.
func (c Catalogue) matches(text string) iter.Seq[Part] {
	return func(yield func(Part) bool) {
		for i := range c {
			if strings.Contains(c[i].Name, text) && !yield(c[i]) {
				return
			}
		}
	}
}

// each calls do with each part that matches, until it returns false.
func each(c Catalogue, text string, do func(Part) bool) {
	for p := range c.matches(text) {
		if !do(p) {
			return
		}
	}
}
