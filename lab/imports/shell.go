package imports

import (
	"bytes"
	"errors"
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

// commands returns the commands of a script in their order. Nothing is executed or expanded:
// variables and substitutions are errors.
func (s *shell) commands(source []byte) error {
	source = bytes.ReplaceAll(source, []byte("\r\n"), []byte("\n"))
	file, err := syntax.NewParser().Parse(bytes.NewReader(source), s.name)
	if err != nil {
		const do = "fix the quotes: copy the command as it is for bash"
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
		return nil // filters of the answers do not change requests
	case *syntax.CallExpr:
		if len(c.Assigns) > 0 {
			return flaw(s.name, line, "write the value into the command instead", "a shell variable")
		}
		words := command{line: line}
		for _, w := range c.Args {
			var word strings.Builder
			if err := s.word(&word, w.Parts, false); err != nil {
				return err
			}
			words.words = append(words.words, word.String())
		}
		s.out = append(s.out, words)
		return nil
	default:
		return flaw(s.name, line, "keep only the curl commands", "something other than a command")
	}
}

// word appends a word without its quoting. Parts whose value only a running shell knows are
// errors.
func (s *shell) word(out *strings.Builder, parts []syntax.WordPart, quoted bool) error {
	const do = "write its value, or quote it with '...' if it is plain text"
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			unescape(out, p.Value, quoted)
		case *syntax.SglQuoted:
			value := p.Value
			if p.Dollar {
				var err error
				if value, _, err = expand.Format(nil, value, nil); err != nil {
					return flaw(s.name, int(p.Pos().Line()), "fix the escapes", "%v", err)
				}
			}
			out.WriteString(value)
		case *syntax.DblQuoted:
			if err := s.word(out, p.Parts, true); err != nil {
				return err
			}
		case *syntax.ParamExp:
			name := "a variable"
			if p.Param != nil {
				name = "$" + p.Param.Value
			}
			return flaw(s.name, int(p.Pos().Line()), do, "the value of %s is not known", name)
		default:
			return flaw(s.name, int(p.Pos().Line()), do, "something that only a shell can expand")
		}
	}
	return nil
}

// unescape appends a text without the backslashes that quote a character.
func unescape(out *strings.Builder, s string, quoted bool) {
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0) {
			if i++; s[i] == '\n' {
				continue
			}
		}
		out.WriteByte(s[i])
	}
}
