package archtest

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// requirements checks the require directives of a go.mod file, indirect ones
// too. The syntax is that of https://go.dev/ref/mod#go-mod-file as the go
// command writes it.
func (c *checker) requirements(name string) error {
	allowed, limited := c.rules.Requires[name]
	if !limited {
		return nil
	}
	text, err := fs.ReadFile(c.tree, name)
	if err != nil {
		return err
	}
	c.seen[name] = true
	block := "" // directive of the block that a line stands in
	for n, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(strings.Replace(line, "(", " (", 1))
		if block != "" && len(words) > 0 {
			words = append([]string{block}, words...)
		}
		if len(words) < 2 {
			continue
		}
		switch directive, arg := words[0], strings.Trim(words[1], `"`); {
		case arg == "(":
			block = directive
		case arg == ")":
			block = ""
		case directive == "require" && !slices.Contains(allowed, arg):
			c.breach(fmt.Sprintf("%s:%d", name, n+1), "requires "+arg,
				"whoever uses the engine downloads nothing but "+strings.Join(allowed, " and "),
				"write what is needed, or move the code to contrib")
		}
	}
	return nil
}
