//go:build !twin

package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

const secrets = `(?i)(?:card|iban|token)=([0-9a-z]{4})[0-9a-z]*`

// search writes the lines of a level, without secrets.
func search(w http.ResponseWriter, lines []string, level string) error {
	out := http.NewResponseController(w)
	for _, l := range lines {
		if !strings.Contains(l, level) {
			continue
		}
		if _, err := fmt.Fprintln(w, redact(l)); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func redact(l string) string {
	return regexp.MustCompile(secrets).ReplaceAllString(l, "[$1]")
}
