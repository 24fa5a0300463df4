package file

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// unsupported skips a test of attributes on a file system that has none.
func unsupported(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Fatal(err)
	}
	t.Skip("the file system of the temporary directory has no such attributes")
}

// apart runs the test in a separate process with its own mounts, which end with it, and
// reports whether this is that process.
func apart(t *testing.T) bool {
	t.Helper()
	const mark = "FILE_TEST_APART"
	if os.Getenv(mark) != "" {
		return true
	}
	c := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	c.Env = append(os.Environ(), mark+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		c.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := c.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("this process may not have its own mounts")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

const nobody = 65534

// asNobody removes the file permissions of root from the test's thread until restore.
func asNobody(t *testing.T) (restore func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		return func() {}
	}
	runtime.LockOSThread()
	must(t, syscall.Setfsuid(nobody))
	return func() {
		must(t, syscall.Setfsuid(0))
		runtime.UnlockOSThread()
	}
}

// TestDotDotInLink follows a link with .. from the directory that it is in.
func TestDotDotInLink(t *testing.T) {
	dir := t.TempDir()
	at := func(n string) string { return filepath.Join(dir, n) }
	must(t, os.MkdirAll(at("real/sub"), 0o755))
	old(t, at("real/f"), 0o644)
	old(t, at("f"), 0o644) // a bystander
	must(t, os.Symlink("real/sub", at("d")))
	must(t, os.Symlink("../f", at("real/sub/link")))
	write(t, at("d/link")) // a shell's > writes real/f
	want(t, at("real/f"), content)
	want(t, at("f"), "old content, which is longer\n")
}

// TestDotDotInPath writes to a path with .. after a link to a directory, which differs from
// the path without the two names.
func TestDotDotInPath(t *testing.T) {
	dir := t.TempDir()
	at := func(n string) string { return filepath.Join(dir, n) }
	must(t, os.MkdirAll(at("real/sub"), 0o755))
	must(t, os.MkdirAll(at("x"), 0o755))
	must(t, os.Symlink("../real/sub", at("x/d")))
	must(t, os.Chmod(at("x"), 0o555))
	write(t, dir+"/x/d/../new")
	want(t, at("real/new"), content)
}

// TestACL keeps the permissions of a file with an ACL.
func TestACL(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	old(t, path, 0o600)
	// version 2; user::rw-, user:12:rw-, group::---, mask::rw-, other::---
	e := func(tag, perm uint16, id uint32) string {
		return string([]byte{byte(tag), byte(tag >> 8), byte(perm), 0, byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24)})
	}
	acl := "\x02\x00\x00\x00" + e(1, 6, ^uint32(0)) + e(2, 6, 12) + e(4, 0, ^uint32(0)) + e(0x10, 6, ^uint32(0)) + e(0x20, 0, ^uint32(0))
	if err := syscall.Setxattr(path, "system.posix_acl_access", []byte(acl), 0); err != nil {
		unsupported(t, err)
	}
	write(t, path)
	b := make([]byte, 200)
	n, err := syscall.Getxattr(path, "system.posix_acl_access", b)
	info, _ := os.Stat(path)
	if err != nil || string(b[:n]) != acl {
		t.Errorf("ACL is lost: %v; the mode is now %v: the group, which had no right, may read and write", err, info.Mode())
	}
}

// TestAttributes keeps the extended attributes of a file.
func TestAttributes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	old(t, path, 0o600)
	if err := syscall.Setxattr(path, "user.note", []byte("mine"), 0); err != nil {
		unsupported(t, err)
	}
	write(t, path)
	if _, err := syscall.Getxattr(path, "user.note", make([]byte, 10)); err != nil {
		t.Error(err)
	}
}

// TestSetgid keeps the set-group-ID bit.
func TestSetgid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	old(t, path, 0o644)
	must(t, syscall.Chmod(path, 0o2644))
	write(t, path)
	var st syscall.Stat_t
	must(t, syscall.Stat(path, &st))
	if st.Mode&0o7777 != 0o2644 {
		t.Errorf("mode %o", st.Mode&0o7777)
	}
}

// TestLongName creates a file whose name leaves no room for a longer one.
func TestLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("a", 250))
	if err := Write(path, []byte(content)); err != nil {
		t.Errorf("new: %v", err)
	}
}

// TestMounted writes a file that is mounted on another.
func TestMounted(t *testing.T) {
	if !apart(t) {
		return
	}
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	old(t, a, 0o644)
	old(t, b, 0o644)
	must(t, syscall.Mount(a, b, "", syscall.MS_BIND, ""))
	defer syscall.Unmount(b, 0)
	write(t, b)
	want(t, a, content)
}

// TestFortyLinks follows as many links as Linux.
func TestFortyLinks(t *testing.T) {
	dir := t.TempDir()
	at := func(i int) string { return filepath.Join(dir, "l"+string(rune('A'+i))) }
	old(t, at(0), 0o644)
	for i := range 40 {
		must(t, os.Symlink(at(i), at(i+1)))
	}
	f, err := os.OpenFile(at(40), os.O_WRONLY, 0)
	must(t, err)
	must(t, f.Close())
	write(t, at(40))
}

// TestUnreadableDirectory writes where the directory cannot be opened for fsync.
func TestUnreadableDirectory(t *testing.T) {
	top := t.TempDir()
	must(t, os.Chmod(top, 0o755))
	must(t, os.Chmod(filepath.Dir(top), 0o755)) // user nobody must be able to traverse it
	dir := filepath.Join(top, "d")
	must(t, os.Mkdir(dir, 0o755))
	path := filepath.Join(dir, "a")
	old(t, path, 0o644)
	if os.Geteuid() == 0 {
		must(t, os.Chown(path, nobody, 0))
	}
	must(t, os.Chmod(dir, 0o333))
	restore := asNobody(t)
	err := Write(path, []byte(content))
	restore()
	must(t, os.Chmod(dir, 0o755))
	got, _ := os.ReadFile(path)
	if err != nil {
		t.Errorf("%v, but the file holds %q", err, got)
	}
}

// TestPrivate lets nobody read what is to replace a private file.
func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	f, err := create(filepath.Join(dir, "secret"), privateMode)
	must(t, err)
	defer f.Close()
	if info, _ := f.Stat(); info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the temporary file of a 0600 one begins as %v", info.Mode())
	}
}

// TestNoRoom leaves the old file when there is no room for a new one.
func TestNoRoom(t *testing.T) {
	if !apart(t) {
		return
	}
	dir := t.TempDir()
	must(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16k,nr_inodes=2"))
	defer syscall.Unmount(dir, 0)
	path := filepath.Join(dir, "a")
	old(t, path, 0o644)
	err := Write(path, make([]byte, 1<<20))
	if err == nil {
		t.Fatal("written")
	}
	want(t, path, "old content, which is longer\n")
}

// TestDescriptorByOtherName writes to the descriptor, however its path is spelled.
func TestDescriptorByOtherName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	f.WriteString("before\n")
	write(t, fmt.Sprintf("/dev//fd/%d", f.Fd()))
	f.WriteString("after\n")
	want(t, path, "before\n"+content+"after\n")
}
