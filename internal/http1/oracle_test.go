package http1

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/redline-go/redline/internal/exchange"
)

// The oracle reads whole messages with regular expressions that follow the ABNF,
// under the choices that doc.go lists. It shares no code with the parser.

const (
	reToken = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+"
	reOWS   = `[ \t]*`
	reQuote = `"(?:[\t !\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t -\x7e\x80-\xff])*"`
	reExt   = reOWS + ";" + reOWS + reToken + "(?:" + reOWS + "=" + reOWS + "(?:" + reToken + "|" + reQuote + "))?"
	reValue = `(?:` + reToken + `|"(?:[\t !\x23-\x2b\x2d-\x5b\x5d-\x7e\x80-\xff]|\\[\t -+\--~\x80-\xff])*")` // without commas
	// reOption is an option of Connection: keep-alive may have parameters.
	reOption = `(?:(?i:keep-alive)(?:` + reOWS + `;` + reOWS + reToken + reOWS + `=` + reOWS + reValue + `)+|` + reToken + `)`
	rePct    = `%[0-9A-Fa-f]{2}`
	reName   = `(?:[A-Za-z0-9\-._~!$&'()*+,;=]|` + rePct + `)+`
	rePath   = `(?:[!-"$&->@-~]|` + rePct + `)*` // VCHAR without # % ?
	reQuery  = `(?:\?([!-"$-~\x80-\xff]*))?`
)

var (
	oracleLine      = regexp.MustCompile(`^(?:\r\n){0,4}(` + reToken + `) ([!-~\x80-\xff]+) HTTP/1\.([0-9])\r\n`)
	oracleBare      = regexp.MustCompile(`^(?:\r\n){0,4}CONNECT ((/` + rePath + `)` + reQuery + `) HTTP/1\.0\n\n`) // of net/rpc
	oraclePreface   = regexp.MustCompile(`^(?:\r\n){0,4}PRI \* HTTP/2\.0\r\n\r\n`)
	oracleOrigin    = regexp.MustCompile(`^(/` + rePath + `)` + reQuery + `$`)
	oracleAbsolute  = regexp.MustCompile(`^(?i:https?)://([^/?]+)((?:/` + rePath + `)?)` + reQuery + `$`)
	oracleField     = regexp.MustCompile(`^(` + reToken + `):` + reOWS + `((?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?)` + reOWS + `\r\n`)
	oracleHost      = regexp.MustCompile(`^(?:` + reName + `|\[([0-9A-Fa-f:.]+)\])(?::([0-9]*))?$`)
	oracleOptions   = regexp.MustCompile(`^` + reOWS + reOption + `?(?:` + reOWS + `,` + reOWS + reOption + `?)*` + reOWS + `$`)
	oracleFraming   = regexp.MustCompile(`(?i)(?:^|,)` + reOWS + `(?:content-length|transfer-encoding|trailer)` + reOWS + `(?:,|$)`)
	oracleChunkLine = regexp.MustCompile(`^([0-9A-Fa-f]{1,16})((?:` + reExt + `)*)\r\n`)
	oracleV6Group   = regexp.MustCompile(`^[0-9A-Fa-f]{1,4}$`)
	oracleV4        = regexp.MustCompile(`^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(?:\.|$)){4}$`)
)

// latin makes a string of which every byte is one rune, so that the expressions'
// classes are of bytes.
func latin(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

// bytesOf undoes latin.
func bytesOf(s string) string {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r))
	}
	return string(b)
}

func oracleAuthority(s string, needPort bool) bool {
	m := oracleHost.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	if m[2] != "" {
		if port, err := strconv.ParseUint(m[2], 10, 64); err != nil && strings.Trim(m[2], "0") != "" || port > 65535 {
			return false
		}
	}
	return (!needPort || m[2] != "") && (s[0] != '[' || oracleV6(m[1]))
}

func oracleV6(s string) bool {
	if strings.Count(s, "::") > 1 || strings.Contains(s, ":::") {
		return false
	}
	groups := func(s string, last bool) int {
		if s == "" {
			return 0
		}
		n := 0
		parts := strings.Split(s, ":")
		for i, part := range parts {
			switch {
			case oracleV6Group.MatchString(part):
				n++
			case last && i == len(parts)-1 && oracleV4.MatchString(part) && !strings.HasSuffix(part, "."):
				n += 2
			default:
				return 100
			}
		}
		return n
	}
	left, right, elided := strings.Cut(s, "::")
	if elided {
		return groups(left, false)+groups(right, true) <= 7
	}
	return groups(s, true) == 8
}

// oracleHead reads a head. ok is false when it has to be refused or has no end; n
// is its length, and the text is what describe writes.
//
//archtest:long the oracle reads from top to bottom, as the RFC does
func oracleHead(in string, lim exchange.Limits) (text string, n int, length int64, ok bool) {
	all := latin(in)
	if m := oracleBare.FindStringSubmatch(all); m != nil {
		text = "CONNECT " + m[1] + " path=" + m[2]
		if strings.Contains(m[1], "?") {
			text += " query=" + m[3]
		}
		text += " host= 1.0 len=0 close"
		if strings.Contains(m[2], "%") {
			text += " escaped"
		}
		return bytesOf(text), len(bytesOf(m[0])), 0, len(bytesOf(m[1])) <= lim.MaxTargetBytes && len(bytesOf(m[0])) <= lim.MaxHeadBytes
	}
	if m := oraclePreface.FindString(all); m != "" {
		return "other PRI * path=* host= 2.0 len=0 close", len(m), 0, true
	}
	m := oracleLine.FindStringSubmatch(all)
	if m == nil || len(m[1]) > maxMethod || len(bytesOf(m[2])) > lim.MaxTargetBytes {
		return
	}
	rest := all[len(m[0]):]
	method, target, minor := m[1], m[2], m[3]
	if minor != "0" {
		minor = "1" // the highest that is known
	}
	type field struct{ name, value string }
	var fields []field
	for {
		f := oracleField.FindStringSubmatch(rest)
		if f == nil {
			break
		}
		fields = append(fields, field{f[1], f[2]})
		rest = rest[len(f[0]):]
	}
	rest, whole := strings.CutPrefix(rest, "\r\n")
	n = len(in) - len(bytesOf(rest))
	if !whole || len(fields) > lim.MaxFields || n > lim.MaxHeadBytes {
		return
	}

	values := map[string][]string{}
	for _, f := range fields {
		values[strings.ToLower(f.name)] = append(values[strings.ToLower(f.name)], f.value)
	}
	hosts := values["host"]
	if len(hosts) > 1 || len(hosts) == 0 && minor == "1" || len(hosts) == 1 && hosts[0] != "" && !oracleAuthority(hosts[0], false) {
		return
	}
	host := strings.Join(hosts, "")
	path, query, hasQuery := "", "", strings.Contains(target, "?")
	if o := oracleOrigin.FindStringSubmatch(target); o != nil {
		path, query = o[1], o[2]
	} else if method == "CONNECT" {
		if !oracleAuthority(target, true) {
			return
		}
		host = target
	} else if a := oracleAbsolute.FindStringSubmatch(target); a != nil && oracleAuthority(a[1], false) {
		host, path, query = a[1], a[2], a[3]
	} else if method == "OPTIONS" && target == "*" {
		path = "*"
	} else {
		return
	}

	lengths, codings := values["content-length"], values["transfer-encoding"]
	if len(lengths)+len(codings) > 1 {
		return
	}
	if len(lengths) == 1 {
		for _, c := range lengths[0] {
			if c < '0' || c > '9' {
				return
			}
		}
		v, err := strconv.ParseInt(lengths[0], 10, 64)
		if err != nil || v > lim.MaxBodyBytes {
			return
		}
		length = v
	}
	if len(codings) == 1 {
		if minor == "0" || strings.ToLower(codings[0]) != "chunked" {
			return
		}
		length = exchange.UnknownLength
		if oracleFraming.MatchString(strings.Join(values["trailer"], ",")) {
			return
		}
	}
	tokens := map[string]bool{}
	for _, v := range values["connection"] {
		if !oracleOptions.MatchString(v) {
			return
		}
		for _, item := range strings.Split(v, ",") {
			option, _, _ := strings.Cut(item, ";")
			tokens[strings.ToLower(strings.Trim(option, " \t"))] = true
		}
	}
	expects := false
	for _, v := range values["expect"] {
		for _, item := range strings.Split(v, ",") {
			switch item = strings.Trim(item, " \t"); {
			case strings.EqualFold(item, "100-continue"):
				expects = true
			case item != "":
				return
			}
		}
	}

	flags := ""
	for _, flag := range []struct {
		set  bool
		name string
	}{
		{tokens["close"] || minor == "0" && !tokens["keep-alive"], "close"},
		{minor == "1" && expects && length != 0, "continue"},
		{strings.Contains(path, "%"), "escaped"},
	} {
		if flag.set {
			flags += " " + flag.name
		}
	}
	text = fmt.Sprintf("%s %s path=%s", method, target, path)
	switch method {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE":
	default:
		text = "other " + text
	}
	if hasQuery {
		text += " query=" + query
	}
	size := fmt.Sprint(length)
	if length == exchange.UnknownLength {
		size = "chunked"
	}
	text += fmt.Sprintf(" host=%s 1.%s len=%s%s", host, minor, size, flags)
	for _, f := range fields {
		text += "|" + f.name + ":" + f.value
	}
	return bytesOf(text), n, length, true
}

// oracleChunked reads chunked content that is whole. ok is false when it has to be
// refused or has no end.
func oracleChunked(in string, lim exchange.Limits) (body string, n int, ok bool) {
	rest := latin(in)
	total, excess := int64(0), 0
	content := ""
	for {
		m := oracleChunkLine.FindStringSubmatch(rest)
		if m == nil || len(bytesOf(m[2])) > lim.MaxChunkExtBytes {
			return
		}
		size, err := strconv.ParseUint(m[1], 16, 63)
		total += int64(size)
		if err != nil || total > lim.MaxBodyBytes || total < 0 {
			return
		}
		excess += len(bytesOf(m[0])) - 16
		if excess -= 2 * int(min(size, 1<<40)); excess < 0 {
			excess = 0
		}
		if excess > lim.MaxChunkOverhead {
			return
		}
		rest = rest[len(m[0]):]
		if size == 0 {
			break
		}
		data := bytesOf(rest)
		if uint64(len(data)) < size+2 || data[size:size+2] != "\r\n" {
			return
		}
		content += data[:size]
		rest = latin(data[size+2:])
	}
	trailers := ""
	size, count := 0, 0
	for {
		f := oracleField.FindStringSubmatch(rest)
		if f == nil {
			break
		}
		size += len(bytesOf(f[0]))
		count++
		rest = rest[len(f[0]):]
		rule := exchange.TrailerRule(exchange.LookupHeader([]byte(f[1])))
		if rule == exchange.TrailerRefused {
			return
		}
		if rule == exchange.TrailerKept {
			trailers += "|" + f[1] + ":" + f[2]
		}
	}
	rest, whole := strings.CutPrefix(rest, "\r\n")
	if !whole || count > lim.MaxFields || size+2 > lim.MaxTrailerBytes {
		return
	}
	return content + bytesOf(trailers), len(in) - len(bytesOf(rest)), true
}
