package archtest

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Breach is one place that does not keep to the rules.
type Breach struct {
	Where string // file, relative to the top of the tree, with a line where there is one; or a package
	What  string // what is there
	Rule  string // what it breaks
	Do    string // what to do about it
}

// String is the breach on one line, in the form that editors jump to.
func (b Breach) String() string {
	return fmt.Sprintf("%s: %s: %s; %s", b.Where, b.What, b.Rule, b.Do)
}

// Check reads every Go file, assembly file, Markdown file and go.mod below the top of
// the tree and returns the breaches sorted by place. The error is an error of reading;
// a file that does not parse is a breach.
func Check(tree fs.FS, rules Rules) ([]Breach, error) {
	c := checker{rules: rules, tree: tree, fset: token.NewFileSet(), files: map[string]int{}, seen: map[string]bool{}}
	if err := fs.WalkDir(tree, ".", c.visit); err != nil {
		return nil, fmt.Errorf("read tree: %w", err)
	}
	c.modules()
	c.packages()
	c.stale()
	slices.SortStableFunc(c.breaches, func(a, b Breach) int { return cmp.Compare(a.Where, b.Where) })
	return c.breaches, nil
}

type checker struct {
	rules    Rules
	tree     fs.FS
	fset     *token.FileSet
	breaches []Breach
	files    map[string]int  // package to the number of its files that count
	seen     map[string]bool // files that were read
}

func (c *checker) breach(where, what, rule, do string) {
	c.breaches = append(c.breaches, Breach{where, what, rule, do})
}

func (c *checker) visit(name string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	base := path.Base(name)
	if entry.IsDir() {
		if name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules") {
			return fs.SkipDir
		}
		return nil
	}
	switch {
	case base == "go.mod":
		return c.requirements(name)
	case strings.EqualFold(path.Ext(base), ".s"):
		if row := c.row(c.pkg(name)); row == nil || !row.Asm {
			c.breach(name, "assembly", "assembly lives in internal/http1/scan alone", "move it there, or write it in Go")
		}
	case path.Ext(base) == ".md":
		text, err := fs.ReadFile(c.tree, name)
		if err != nil {
			return err
		}
		c.document(name, text)
	case path.Ext(base) == ".go" && base[0] != '.' && base[0] != '_':
		return c.source(name)
	}
	return nil
}

// source checks one Go file.
func (c *checker) source(name string) error {
	text, err := fs.ReadFile(c.tree, name)
	if err != nil {
		return err
	}
	c.seen[name] = true
	file, err := parser.ParseFile(c.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		c.breach(name, err.Error(), "every file parses", "mend the syntax")
		return nil
	}
	c.comments(name, file, text)
	test := strings.HasSuffix(name, "_test.go")
	pkg := c.pkg(name)
	if row := c.row(pkg); row == nil {
		c.breach(name, "package "+pkg+" is not in the import table", "every package of the repository has a row", "add a row to internal/archtest/rules.go, and to docs/ARCHITECTURE.md")
	} else {
		c.imports(file, pkg, *row, test)
		if !row.Raw {
			c.raw(file)
		}
	}
	if ast.IsGenerated(file) {
		return nil
	}
	if !test {
		c.files[pkg]++
	}
	c.lines(name, bytes.Count(text, []byte("\n")))
	c.functions(file)
	return nil
}

// pkg is the import path of the package that a file belongs to.
func (c *checker) pkg(name string) string {
	return path.Join(c.rules.Module, path.Dir(name))
}

// at is the place of a node: file and line.
func (c *checker) at(node ast.Node) string {
	pos := c.fset.Position(node.Pos())
	return fmt.Sprintf("%s:%d", pos.Filename, pos.Line)
}
