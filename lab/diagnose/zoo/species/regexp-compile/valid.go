//go:build !twin

package main

import "regexp"

func validEmail(text string) bool { return matches(emailFormat, text) }

func validPhone(text string) bool { return matches(phoneFormat, text) }

func validCode(text string) bool { return matches(codeFormat, text) }

func validSite(text string) bool { return matches(siteFormat, text) }

// matches reports whether a text has a format.
func matches(format, text string) bool {
	ok, err := regexp.MatchString(format, text)
	return err == nil && ok
}
