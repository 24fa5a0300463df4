package cli

import (
	"net/url"
	"regexp"
	"strings"
)

// redacted replaces values that must not be in a result.
const redacted = "REDACTED"

// secret matches names of header fields, query parameters and flags whose values are
// credentials.
var secret = regexp.MustCompile(`(?i)auth|cookie|token|secret|key|passw|pwd|session|credential|signature|jwt`)

// Redact returns a copy of a command's arguments in which credentials are replaced: the
// values of header fields and flags, and those in URLs.
func Redact(args []string) []string {
	out := make([]string, 0, len(args))
	flag := "" // flag whose value is the next argument
	for _, a := range args {
		switch {
		case flag != "":
			a, flag = redactValue(flag, a), ""
		case strings.HasPrefix(a, "--"):
			name, value, has := strings.Cut(a, "=")
			switch {
			case has:
				a = name + "=" + redactValue(name, value)
			case name == "--header" || secret.MatchString(name):
				flag = name
			}
		case a == "-H":
			flag = a
		case strings.HasPrefix(a, "-H"):
			a = "-H" + redactValue("-H", a[2:])
		default:
			a = redactURLs(a)
		}
		out = append(out, a)
	}
	return out
}

// redactValue replaces credentials in the value of a flag.
func redactValue(flag, value string) string {
	if flag == "-H" || flag == "--header" {
		if name, _, ok := strings.Cut(value, ":"); ok && secret.MatchString(name) {
			return name + ": " + redacted
		}
		return value
	}
	if secret.MatchString(flag) && !strings.HasPrefix(value, "-") {
		return redacted
	}
	return redactURLs(value)
}

// redactURLs replaces credentials in text if it is a URL.
func redactURLs(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return RedactURL(u)
}

// RedactURL returns the text of a URL in which the password and the values of query
// parameters that are credentials are replaced.
func RedactURL(u *url.URL) string {
	c := *u
	if c.User != nil {
		if _, has := c.User.Password(); has {
			c.User = url.UserPassword(c.User.Username(), redacted)
		}
	}
	if c.RawQuery != "" {
		pairs := strings.Split(c.RawQuery, "&")
		for i, p := range pairs {
			if name, _, has := strings.Cut(p, "="); has && secret.MatchString(name) {
				pairs[i] = name + "=" + redacted
			}
		}
		c.RawQuery = strings.Join(pairs, "&")
	}
	return c.String()
}
