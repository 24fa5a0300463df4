package toolchain

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Local is the version that stands for the toolchain of the command go itself.
const Local = "local"

// prefix begins the versions of the module golang.org/toolchain: "v0.0.1-go1.25.3.linux-amd64".
const prefix = "v0.0.1-go"

// version matches what a user may write: 1.25, 1.25.3, 1.27rc1, go1.25.3.
var version = regexp.MustCompile(`^(?:go)?1\.(\d{1,4})(?:\.(\d{1,4}))?((?:rc|beta)\d{1,3})?$`)

// Choose returns the value of GOTOOLCHAIN for a version: "local" and exact versions as they are
// written, and for a minor version its newest release. listed are the versions of module
// golang.org/toolchain, of all platforms; it is called only for a minor version. A minor version
// that has only release candidates is an error that names the newest of them.
func Choose(asked, goos, goarch string, listed func() ([]string, error)) (string, error) {
	if asked == Local {
		return Local, nil
	}
	m := version.FindStringSubmatch(asked)
	if m == nil {
		return "", fmt.Errorf("--go %q: write a version such as 1.25 (its newest patch), 1.25.3 or 1.27rc1, or local", asked)
	}
	name := "go" + strings.TrimPrefix(asked, "go")
	if m[2] != "" || m[3] != "" {
		return name, nil
	}
	all, err := listed()
	if err != nil {
		return "", fmt.Errorf("find the newest patch of Go %s; without a module proxy write an exact version that is in the module cache, such as %s.1, or local: %w", asked, strings.TrimPrefix(name, "go"), err)
	}
	patch, candidate := newest(m[1], "."+goos+"-"+goarch, all)
	switch {
	case patch != "":
		return patch, nil
	case candidate != "":
		return "", fmt.Errorf("--go %s: there is no release yet; write %s for its newest candidate", asked, strings.TrimPrefix(candidate, "go"))
	}
	return "", fmt.Errorf("--go %s: the module proxy has no toolchain of this version for %s/%s; known minor versions: %s",
		asked, goos, goarch, strings.Join(minors("."+goos+"-"+goarch, all), ", "))
}

// newest returns the newest release of a minor version and its newest candidate; "" is none.
func newest(minor, platform string, listed []string) (release, candidate string) {
	best, last := -1, ""
	for _, v := range listed {
		name, m := parse(v, platform)
		if m == nil || m[1] != minor {
			continue
		}
		if m[3] != "" {
			if last == "" || newer(m[3], last) {
				last, candidate = m[3], name
			}
			continue
		}
		patch, err := strconv.Atoi(cmp.Or(m[2], "0"))
		if err == nil && patch > best {
			best, release = patch, name
		}
	}
	return release, candidate
}

// newer reports whether one candidate comes after another: rc2 after rc1, rc1 after beta2.
func newer(a, b string) bool {
	if len(a) != len(b) && a[0] == b[0] {
		return len(a) > len(b)
	}
	return a > b
}

// parse returns the name in a version of the module, and its parts; nil if it is of another
// platform, or no version.
func parse(v, platform string) (name string, parts []string) {
	rest, ok := strings.CutPrefix(v, prefix)
	if !ok {
		return "", nil
	}
	if rest, ok = strings.CutSuffix(rest, platform); !ok {
		return "", nil
	}
	return "go" + rest, version.FindStringSubmatch(rest)
}

// minors returns the minor versions that are listed, the newest first; at most eight.
func minors(platform string, listed []string) []string {
	var numbers []int
	for _, v := range listed {
		if _, m := parse(v, platform); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil && !slices.Contains(numbers, n) {
				numbers = append(numbers, n)
			}
		}
	}
	slices.SortFunc(numbers, func(a, b int) int { return b - a })
	var out []string
	for _, n := range numbers[:min(len(numbers), 8)] {
		out = append(out, "1."+strconv.Itoa(n))
	}
	return out
}
