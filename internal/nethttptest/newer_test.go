//go:build !go1.27

package nethttptest

// newer is for newer versions of net/http: see the other file.
var newer map[string]string
