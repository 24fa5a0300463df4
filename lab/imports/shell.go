package imports

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// command is one command of a shell script, with its words after quoting is removed.
type command struct {
	line  int
	words []string
}

// shell reads the simple commands of a script.
type shell struct {
	name string
	out  []command
}

// caret matches a line of a command for Windows' cmd, which continues with a caret.
var caret = regexp.MustCompile(`\^\s*\n|\^"`)

// tilde keeps ~ and ~name as they are.
var tilde = &expand.Config{Env: expand.FuncEnviron(func(name string) string {
	if home, ok := strings.CutPrefix(name, "HOME"); ok {
		return "~" + strings.TrimSpace(home)
	}
	return ""
})}

// commands returns the commands of a script in their order. Nothing is executed or expanded:
// variables and substitutions are errors.
func (s *shell) commands(source []byte) error {
	source = bytes.ReplaceAll(source, []byte("\r\n"), []byte("\n"))
	file, err := syntax.NewParser().Parse(bytes.NewReader(source), s.name)
	if err != nil {
		do := "fix the quotes: copy the command as it is for bash"
		if caret.Match(source) {
			do = "copy the command for bash: this is one for Windows' cmd"
		}
		if bad, ok := errors.AsType[syntax.ParseError](err); ok {
			return flaw(s.name, int(bad.Pos.Line()), do, "%s", bad.Text)
		}
		if bad, ok := errors.AsType[syntax.LangError](err); ok {
			return flaw(s.name, int(bad.Pos.Line()), do, "%s is not a feature of bash", bad.Feature)
		}
		return flaw(s.name, 0, do, "%v", err)
	}
	return s.statements(file.Stmts)
}

func (s *shell) statements(list []*syntax.Stmt) error {
	for _, stmt := range list {
		if err := s.statement(stmt); err != nil {
			return err
		}
	}
	return nil
}

func (s *shell) statement(stmt *syntax.Stmt) error {
	line := int(stmt.Pos().Line())
	switch c := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		if err := s.statement(c.X); err != nil {
			return err
		}
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			return s.statement(c.Y)
		}
		return nil // what filters the answers changes no request
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 {
			return flaw(s.name, line, "write the value into the command instead", "a shell variable")
		}
		words := command{line: line}
		for _, w := range c.Args {
			if err := s.plain(w.Parts); err != nil {
				return err
			}
			word, err := expand.Literal(tilde, w)
			if err != nil {
				return flaw(s.name, int(w.Pos().Line()), "write it in quotes", "%v", err)
			}
			words.words = append(words.words, word)
		}
		s.out = append(s.out, words)
		return nil
	default:
		return flaw(s.name, line, "keep only the curl commands", "something other than a command")
	}
}

// plain rejects the parts of a word whose value only a running shell knows.
func (s *shell) plain(parts []syntax.WordPart) error {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if err := s.plain(p.Parts); err != nil {
				return err
			}
		case *syntax.ParamExp:
			name := "a variable"
			if p.Param != nil {
				name = "$" + p.Param.Value
			}
			return flaw(s.name, int(p.Pos().Line()), "write its value, or quote it with '...' if it is plain text", "the value of %s is not known", name)
		default:
			return flaw(s.name, int(p.Pos().Line()), "write its value, or quote it with '...' if it is plain text", "something that only a shell can expand")
		}
	}
	return nil
}
