//go:build linux || darwin

package scan

import (
	"syscall"
	"testing"
)

// TestGuardPages runs every scanner on slices that end at, and begin at, a page
// that may not be read: one byte too far is a fault that ends the test binary.
func TestGuardPages(t *testing.T) {
	page := syscall.Getpagesize()
	mem, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatalf("map pages: %v", err)
	}
	defer func() {
		if err := syscall.Munmap(mem); err != nil {
			t.Errorf("unmap pages: %v", err)
		}
	}()
	inner := mem[page : 2*page : 2*page]
	for i := range inner {
		inner[i] = 'a'
	}
	for _, guard := range [][]byte{mem[:page], mem[2*page:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatalf("protect page: %v", err)
		}
	}
	for n := range 300 {
		for _, b := range [][]byte{inner[page-n:], inner[:n:n]} {
			for _, r := range runs {
				if got := r.run(b); got != n {
					t.Fatalf("%s of %d bytes: %d", r.name, n, got)
				}
			}
			for from := range n + 1 {
				if got := new(Window).Fill(b, from); got != n-from {
					t.Fatalf("Fill of %d bytes from %d: %d", n, from, got)
				}
			}
		}
	}
	for _, n := range []int{WindowBytes - 1, WindowBytes, WindowBytes + 1, page} {
		if got := new(Window).Fill(inner[page-n:], 0); got != min(n, WindowBytes) {
			t.Fatalf("Fill of %d bytes: %d", n, got)
		}
	}
}
