package archtest

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// row is the row of a package, nil when there is none.
func (c *checker) row(pkg string) *Row {
	i := slices.IndexFunc(c.rules.Rows, func(r Row) bool { return c.match(r.Package, pkg) })
	if i < 0 {
		return nil
	}
	return &c.rules.Rows[i]
}

// match reports whether a pattern of the table covers an import path.
func (c *checker) match(pattern, pkg string) bool {
	if rest, ok := strings.CutPrefix(pattern, "~"); ok {
		pattern = c.rules.Module + rest
	}
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return below(dir, pkg)
	}
	if pattern == "*" {
		return !below(c.rules.Module, pkg)
	}
	return pattern == pkg
}

func (c *checker) matchAny(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return c.match(p, pkg) })
}

// below reports whether pkg is dir or below it.
func below(dir, pkg string) bool {
	return pkg == dir || strings.HasPrefix(pkg, dir+"/")
}

// std reports whether an import path belongs to the go command itself: its
// first element has no dot. C counts as such.
func std(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".")
}

// imports checks the imports of one file against the row of its package.
func (c *checker) imports(file *ast.File, pkg string, row Row, test bool) {
	for _, spec := range file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			c.breach(c.at(spec), "import path "+spec.Path.Value, "an import path is a string", err.Error())
			continue
		}
		var allowed bool
		switch {
		case test && (target == pkg || c.matchAny(row.Tests, target)):
			allowed = true
		case std(target):
			allowed = !c.matchAny(row.Never, target) && (target != "C" || slices.Contains(row.May, "C"))
		default:
			allowed = c.matchAny(row.May, target)
		}
		if !allowed {
			c.breach(c.at(spec), "imports "+target, fmt.Sprintf("%s (%s)", row.Why, row.terms()),
				"move the code to a package that may import it, or change the row in internal/archtest/rules.go together with docs/ARCHITECTURE.md")
		}
	}
}

// terms describes what a row allows.
func (r Row) terms() string {
	may := "the standard library"
	if len(r.Never) > 0 {
		may += " but for " + strings.Join(r.Never, ", ")
	}
	if len(r.May) > 0 {
		may += ", and " + strings.Join(r.May, ", ")
	}
	return r.Package + " may import " + may
}

// kernelNames are the prefixes of names in rawPackages that make a raw system call, or are
// structures that the kernel reads or writes.
var (
	kernelNames = []string{"Syscall", "RawSyscall", "Epoll", "RawSockaddr", "Iovec", "Msghdr"}
	rawPackages = []string{"syscall", "golang.org/x/sys/unix"}
)

// raw finds raw system calls and structures of the kernel.
func (c *checker) raw(file *ast.File) {
	const (
		rule = "raw system calls and structures of the kernel live in internal/sys alone"
		do   = "give internal/sys a function for it"
	)
	names := map[string]bool{} // under which the packages are known in this file
	for _, spec := range file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !slices.Contains(rawPackages, target) {
			continue // imports has reported the former
		}
		name := target[strings.LastIndexByte(target, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		if name == "." {
			c.breach(c.at(spec), "imports "+target+" without a name", rule, do)
		}
		names[name] = true
	}
	ast.Inspect(file, func(node ast.Node) bool {
		sel, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && names[x.Name] &&
			slices.ContainsFunc(kernelNames, func(n string) bool { return strings.HasPrefix(sel.Sel.Name, n) }) {
			c.breach(c.at(sel), "uses "+x.Name+"."+sel.Sel.Name, rule, do)
		}
		return true
	})
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//go:linkname ") {
				c.breach(c.at(comment), "reaches past the import table with "+comment.Text, rule, do)
			}
		}
	}
}
