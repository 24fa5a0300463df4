package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

// long is the annotation of a function that has a reason to be over
// [Rules.FuncLines]. The reason follows on the same line.
const long = "//archtest:long"

// lines checks the length of a file.
func (c *checker) lines(name string, n int) {
	_, listed := c.rules.LongFiles[name]
	switch what := fmt.Sprintf("%d lines", n); {
	case n > c.rules.HardLines:
		c.breach(name, what, fmt.Sprintf("a file has %d lines at most", c.rules.HardLines), "split it by subject")
	case n > c.rules.SoftLines && !listed:
		c.breach(name, what, fmt.Sprintf("a file of more than %d lines has a reason", c.rules.SoftLines), "split it by subject, or give the reason in LongFiles")
	case n <= c.rules.SoftLines && listed:
		c.breach(name, what, "an exception is needed", "remove it from LongFiles")
	}
}

// functions checks the length of every function of a file that does not stand
// within another one.
func (c *checker) functions(file *ast.File) {
	notes := map[int]string{} // line to the annotation that ends there
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, long) {
				notes[c.line(group, true)] = strings.TrimSpace(comment.Text[len(long):])
			}
		}
	}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			c.function(fn, fn.Name.Name, notes)
			continue
		}
		ast.Inspect(decl, func(node ast.Node) bool {
			lit, ok := node.(*ast.FuncLit)
			if ok {
				c.function(lit, "function", notes)
			}
			return !ok
		})
	}
	for _, line := range slices.Sorted(maps.Keys(notes)) {
		c.breach(fmt.Sprintf("%s:%d", c.fset.Position(file.Pos()).Filename, line), long,
			fmt.Sprintf("the annotation stands right above a function of more than %d lines", c.rules.FuncLines), "remove it")
	}
}

// function checks one function and takes its annotation from notes.
func (c *checker) function(fn ast.Node, name string, notes map[int]string) {
	first := c.line(fn, false)
	n := c.line(fn, true) - first + 1
	reason, annotated := notes[first-1]
	if n <= c.rules.FuncLines {
		return // an annotation stays in notes, as one too many
	}
	delete(notes, first-1)
	if !annotated || reason == "" {
		c.breach(c.at(fn), fmt.Sprintf("%s has %d lines", name, n),
			fmt.Sprintf("a function of more than %d lines has a reason", c.rules.FuncLines), "split it, or write "+long+" REASON above")
	}
}

// line is the first line of a node, or its last.
func (c *checker) line(node ast.Node, last bool) int {
	if last {
		return c.fset.Position(node.End() - 1).Line
	}
	return c.fset.Position(node.Pos()).Line
}

// packages checks how many files the packages have.
func (c *checker) packages() {
	for pkg, n := range c.files {
		dir := c.dir(pkg)
		_, listed := c.rules.BigPackages[dir]
		switch what := fmt.Sprintf("%d files", n); {
		case n > c.rules.PackageFiles && !listed:
			c.breach(dir, what, fmt.Sprintf("a package of more than %d files has a reason", c.rules.PackageFiles), "split it by subject, or give the reason in BigPackages")
		case n <= c.rules.PackageFiles && listed:
			c.breach(dir, what, "an exception is needed", "remove it from BigPackages")
		}
	}
}

// stale finds exceptions for what is not there.
func (c *checker) stale() {
	for name := range c.rules.LongFiles {
		if !c.seen[name] {
			c.breach(name, "no such file", "an exception is needed", "remove it from LongFiles")
		}
	}
	for dir := range c.rules.BigPackages {
		if c.files[path.Join(c.rules.Module, dir)] == 0 {
			c.breach(dir, "no such package", "an exception is needed", "remove it from BigPackages")
		}
	}
}

// modules makes sure that the walk has seen every module: rules that are held
// against nothing hold nothing.
func (c *checker) modules() {
	for _, dir := range c.rules.Modules {
		found := slices.ContainsFunc(slices.Collect(maps.Keys(c.files)), func(pkg string) bool {
			return below(dir, c.dir(pkg))
		})
		if !found {
			c.breach(dir, "no Go files", "the rules hold for every module", "check from the top of the repository")
		}
	}
	for name := range c.rules.Requires {
		if !c.seen[name] {
			c.breach(name, "no such file", "the rules hold for every module", "check from the top of the repository")
		}
	}
}

// dir is the directory of a package of ours.
func (c *checker) dir(pkg string) string {
	if pkg == c.rules.Module {
		return "."
	}
	return strings.TrimPrefix(pkg, c.rules.Module+"/")
}
