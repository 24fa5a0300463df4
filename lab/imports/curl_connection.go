package imports

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// curlConnection are options of the connection, which no scenario contains: the note for a
// value says which flag of redline load does the same. An empty note is left out.
var curlConnection = map[string]func(value string) string{
	"cacert":               func(v string) string { return give("ca", v) },
	"cert":                 certificate,
	"key":                  key,
	"cert-type":            encoding,
	"key-type":             encoding,
	"pass":                 func(string) string { return "left out: redline load needs a key without a password" },
	"unix-socket":          unixSocket,
	"abstract-unix-socket": func(v string) string { return give("unix", "@"+v) },
}

// give is the note for an option that redline load has as a flag.
func give(flag, value string) string {
	word, err := syntax.Quote(value, syntax.LangBash)
	if err != nil { // no shell can pass such a word
		word = fmt.Sprintf("%q", value)
	}
	return "give --" + flag + " " + word + " to redline load"
}

// certificate is the note for the value of -E: FILE or FILE:PASSWORD, where \: and \\ stand for
// a colon and a backslash of the name.
func certificate(v string) string {
	if inToken(v) {
		return noToken
	}
	var file strings.Builder
	for i := 0; i < len(v); i++ {
		switch {
		case v[i] == ':':
			return give("cert", file.String()) + ", which needs its key without a password"
		case v[i] == '\\' && i+1 < len(v) && (v[i+1] == '\\' || v[i+1] == ':'):
			i++
		}
		file.WriteByte(v[i])
	}
	return give("cert", file.String())
}

func key(v string) string {
	if inToken(v) {
		return noToken
	}
	return give("key", v)
}

// noToken does not repeat the URI, which may have the PIN.
const noToken = "left out: redline load reads certificates and keys from PEM files only"

// inToken reports whether a value is a URI of PKCS #11, not a file.
func inToken(v string) bool { return len(v) >= 7 && strings.EqualFold(v[:7], "pkcs11:") }

// encoding is the note for the value of --cert-type and --key-type.
func encoding(v string) string {
	if strings.EqualFold(v, "PEM") {
		return ""
	}
	return "redline load needs PEM: convert the " + v
}

// unixSocket is the note for the path of a socket. redline load has @NAME for abstract ones.
func unixSocket(v string) string {
	if strings.HasPrefix(v, "@") {
		v = "./" + v
	}
	return give("unix", v)
}
