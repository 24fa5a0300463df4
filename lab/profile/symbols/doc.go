// Package symbols finds the functions that belong to the addresses of a stack: in ELF files, in
// the kernel, and in the maps that compilers at run time write.
//
//	address in a process ─▶ mapping ─▶ address in a file ─▶ File.Lookup ─▶ frames, innermost first
//	                                                          ├ Go: .gopclntab, with inlined calls
//	                                                          └ other: .symtab and .dynsym, demangled
//	address of the kernel ─▶ Kernel.Lookup    (/proc/kallsyms)
//	anonymous memory      ─▶ Map.Lookup       (perf-PID.map)
//
// The package opens no files. Everything that it reads may be made to break it: sizes are
// limited, loops end, and a damaged file is an error or an address without a name.
package symbols

import "errors"

// A Frame is a function at an address. Several belong to one address if calls were inlined.
type Frame struct {
	Name      string // "net/http.(*conn).serve", "std::vector::push_back", "tcp_sendmsg"
	System    string // as the linker wrote it, if it is another: "_ZNSt6vector9push_backEv"
	File      string // empty if it is not known
	Line      int    // 0 if it is not known
	StartLine int    // of the function, 0 if it is not known
}

// Errors of this package, to be tested with [errors.Is].
var (
	ErrFormat   = errors.New("not an ELF file for a 64-bit little-endian machine")
	ErrTooLarge = errors.New("larger than is read")
	ErrHidden   = errors.New("the kernel hides its addresses: be root, or set the sysctl kernel.kptr_restrict to 0")
)

const maxName = 4096 // bytes of a symbol
