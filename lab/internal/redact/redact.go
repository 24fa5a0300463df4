// Package redact removes credentials from text that is printed or saved. It replaces the
// values of header fields, query parameters and flags whose names are those of credentials,
// and passwords in URLs.
package redact

import (
	"regexp"
	"strings"
)

// removed replaces a credential.
const removed = "REDACTED"

var (
	// secret matches names of header fields, query parameters and flags whose values are
	// credentials.
	secret = regexp.MustCompile(`(?i)auth|cookie|token|secret|key|pass|pwd|session|credential|signature|jwt|^sig$|^sid$|^code$`)

	password  = regexp.MustCompile(`(://[^/\s:@"']*:)[^/\s@"']*@`)
	parameter = regexp.MustCompile(`[?&#]([^=&\s"'#?]+)=([^&\s"'#]*)`)
	field     = regexp.MustCompile(`\bheader ([!#-.0-9A-Z^-z|~]+) (?:equals|contains|matches) (.+)`)
)

// Text returns text in which the credentials of URLs, and of checks of header fields, are
// replaced.
func Text(text string) string {
	if strings.Contains(text, "://") {
		text = password.ReplaceAllString(text, "${1}"+removed+"@")
	}
	if strings.Contains(text, "=") {
		text = replace(parameter, text)
	}
	return replace(field, text)
}

// replace replaces the second group of each match if the first one is the name of a
// credential.
func replace(of *regexp.Regexp, text string) string {
	var out strings.Builder
	end := 0
	for _, m := range of.FindAllStringSubmatchIndex(text, -1) {
		if secret.MatchString(text[m[2]:m[3]]) {
			out.WriteString(text[end:m[4]] + removed)
			end = m[5]
		}
	}
	return out.String() + text[end:]
}

// Args returns a copy of a command's arguments in which credentials are replaced: the
// values of header fields and flags, and those in URLs.
func Args(args []string) []string {
	out := make([]string, 0, len(args))
	flag := "" // flag whose value is the next argument
	for _, a := range args {
		switch {
		case flag != "":
			a, flag = value(flag, a), ""
		case strings.HasPrefix(a, "--"):
			name, v, has := strings.Cut(a, "=")
			switch {
			case has:
				a = name + "=" + value(name, v)
			case name == "--header" || secret.MatchString(name):
				flag = name
			}
		case a == "-H":
			flag = a
		case strings.HasPrefix(a, "-H"):
			a = "-H" + value("-H", a[2:])
		default:
			a = Text(a)
		}
		out = append(out, a)
	}
	return out
}

// value replaces credentials in the value of a flag.
func value(flag, v string) string {
	if flag == "-H" || flag == "--header" {
		if name, _, ok := strings.Cut(v, ":"); ok && secret.MatchString(name) {
			return name + ": " + removed
		}
		return v
	}
	if secret.MatchString(flag) && !strings.HasPrefix(v, "-") {
		return removed
	}
	return Text(v)
}
