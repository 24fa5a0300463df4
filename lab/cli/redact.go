package cli

import (
	"net/url"
	"regexp"
	"strings"
)

// redacted takes the place of what must not be in a result.
const redacted = "REDACTED"

// secret is in the name of a header field, a query parameter or a flag whose value is a
// credential.
var secret = regexp.MustCompile(`(?i)auth|cookie|token|secret|key|passw|pwd|session|credential|signature|jwt`)

// Redact returns the arguments of a command as they may be written into a result: without the
// values of header fields and flags that are credentials, and without those in URLs.
func Redact(args []string) []string {
	out := make([]string, 0, len(args))
	flag := "" // whose value comes next
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

// redactValue is the value of a flag.
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

// redactURLs does so with text that is a URL.
func redactURLs(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	if name, rest, is := strings.Cut(text, "="); is && !strings.Contains(name, "://") { // as otlp=URL
		return name + "=" + redactURLs(rest)
	}
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	return RedactURL(u)
}

// RedactURL is the text of a URL without its password and the values of query parameters that
// are credentials.
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
