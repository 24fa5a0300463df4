package program

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The object is that of the sources: the compiler was told their hash, which is a section of it.
func TestObject(t *testing.T) {
	names, err := filepath.Glob("src/*")
	if err != nil || len(names) == 0 {
		t.Fatal(err, names)
	}
	slices.Sort(names)
	hash := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		hash.Write(text)
	}
	file, err := elf.NewFile(bytes.NewReader(object))
	if err != nil {
		t.Fatal(err)
	}
	section := file.Section("source")
	if section == nil {
		t.Fatal("the object does not say what it was made from: make bpf")
	}
	got, err := section.Data()
	if want := hex.EncodeToString(hash.Sum(nil)); err != nil || string(bytes.TrimRight(got, "\x00")) != want {
		t.Errorf("the object was made from other sources, %s, not %s: make bpf; %v", got, want, err)
	}
}

// The object can be read without the kernel, and names no directory of the machine that made it.
func TestSpec(t *testing.T) {
	spec, err := Spec()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"root", "tree", "slots", "kinds", "returning", "jiffy", "window", "opened"} {
		if spec.Variables[name] == nil {
			t.Errorf("no variable %s", name)
		}
	}
	for name, m := range spec.Maps {
		if m.Pinning != 0 {
			t.Errorf("map %s is pinned: it would outlive the watch", name)
		}
	}
	for _, path := range []string{"/home/", "/root/", "/work/", "/tmp/"} {
		if bytes.Contains(object, []byte(path)) {
			t.Errorf("the object contains %s", path)
		}
	}
}
