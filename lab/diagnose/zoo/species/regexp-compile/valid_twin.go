//go:build twin

package main

import "regexp"

var (
	email = regexp.MustCompile(emailFormat)
	phone = regexp.MustCompile(phoneFormat)
	code  = regexp.MustCompile(codeFormat)
	site  = regexp.MustCompile(siteFormat)
)

func validEmail(text string) bool { return email.MatchString(text) }

func validPhone(text string) bool { return phone.MatchString(text) }

func validCode(text string) bool { return code.MatchString(text) }

func validSite(text string) bool { return site.MatchString(text) }
