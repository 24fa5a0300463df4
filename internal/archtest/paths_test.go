package archtest

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// stackFrame matches a line of a stack that names a file by its place on some machine.
var stackFrame = regexp.MustCompile(`(?m)^\s*/\S+\.go:\d+( \+0x[0-9a-f]+)?$`)

// TestDocumentsHaveNoStacks wants documents, also what a command wrote into them, to name files by
// their place in the repository.
func TestDocumentsHaveNoStacks(t *testing.T) {
	if stackFrame.FindString("x\n\t/home/me/main.go:62 +0x31\n") == "" || stackFrame.FindString("see main.go:62\n") != "" {
		t.Fatal("the expression is wrong")
	}
	read := 0
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "results" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".md"):
			return nil
		}
		text, err := os.ReadFile("../../" + path)
		if err != nil {
			return err
		}
		read++
		for _, line := range stackFrame.FindAllString(string(text), -1) {
			t.Errorf("%s has a path of somebody's machine: %s: name the file by its place in the repository", path, strings.TrimSpace(line))
		}
		return nil
	})
	if err != nil || read < 50 {
		t.Errorf("%d documents: %v", read, err)
	}
}
