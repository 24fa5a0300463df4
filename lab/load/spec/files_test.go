package spec

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(name, []byte("a,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := ReadFiles([]string{name})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(files)
	if err != nil {
		t.Fatal(err)
	}
	var there Files
	if err := json.Unmarshal(b, &there); err != nil {
		t.Fatal(err)
	}
	f, err := there.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil || info.Size() != 4 || !info.Mode().IsRegular() || info.Name() != "rows.csv" || info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
	if text, err := io.ReadAll(f); err != nil || string(text) != "a,b\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, ok := f.(io.ReaderAt); !ok {
		t.Error("a long body could not be read from it piece by piece")
	}
	if _, err := there.Open("other"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another file: %v", err)
	}
	if _, err := ReadFiles([]string{name, name + "x"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
