package static

import (
	"io/fs"
	"net/url"
	"runtime"
	"strings"
)

// Name returns the name of the file that a path represents, relative to the served
// directory: "." for the directory itself. raw is the path after the mount point,
// percent-encoded, without its first slash. dir reports that it ends in a slash, so that
// only a directory is meant.
//
// A file has exactly one path: forms that have fooled other servers, or that they clean up
// first, are refused (CVE-2022-40082). These are "." and ".." as segments, in any encoding,
// empty segments, backslashes, encoded slashes, control characters, anything that is not
// UTF-8, on Windows everything that Windows interprets differently, and, unless dots is
// set, names that begin with a dot: .git, .env, .htpasswd. Of these ".well-known" is exempt
// (RFC 8615).
func Name(raw []byte, dots bool) (name string, dir, ok bool) {
	text := string(raw)
	if text == "" {
		return ".", true, true
	}
	// Decoding an encoded slash would add a slash.
	slashes := strings.Count(text, "/")
	text, err := url.PathUnescape(text)
	if err != nil || strings.Count(text, "/") != slashes {
		return "", false, false
	}
	text, dir = strings.CutSuffix(text, "/")
	if text == "." || !fs.ValidPath(text) {
		return "", false, false
	}
	for segment := range strings.SplitSeq(text, "/") {
		if !plain(segment) || !dots && segment[0] == '.' && segment != ".well-known" {
			return "", false, false
		}
		if runtime.GOOS == "windows" && !plainOnWindows(segment) {
			return "", false, false
		}
	}
	return text, dir, true
}

// plain reports whether a segment is a name without control characters and
// backslashes.
func plain(segment string) bool {
	for i := range len(segment) {
		if c := segment[i]; c < ' ' || c == 0x7f || c == '\\' {
			return false
		}
	}
	return true
}

// plainOnWindows reports whether Windows takes a segment for the name of exactly one file:
// no device, no drive or stream ("a:b"), no ending that it drops ("a.", "a "), no wildcard,
// nothing that looks like a short name ("GIT~1").
func plainOnWindows(segment string) bool {
	if strings.ContainsAny(segment, `:*?"<>|`) || strings.HasSuffix(segment, ".") || strings.HasSuffix(segment, " ") {
		return false
	}
	if _, after, found := strings.Cut(segment, "~"); found && after != "" && '0' <= after[0] && after[0] <= '9' {
		return false
	}
	base, _, _ := strings.Cut(segment, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return false
	}
	if unit, found := strings.CutPrefix(base, "COM"); found || strings.HasPrefix(base, "LPT") {
		if !found {
			unit = base[len("LPT"):]
		}
		switch unit {
		case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "\u00b9", "\u00b2", "\u00b3":
			return false
		}
	}
	return true
}
