package frames

import (
	"net/url"
	"path"
	"strings"
)

// Origin says whose code a function is.
type Origin uint8

// The origins.
const (
	Unknown  Origin = iota
	User            // of the program's own module, or of a program in another language
	Library         // another module, or a shared library
	Standard        // the standard library, or the C library
	Runtime         // the Go runtime
	Kernel
)

var origins = []string{"unknown", "user code", "library", "standard library", "runtime", "kernel"}

func (o Origin) String() string { return origins[min(int(o), len(origins)-1)] }

// Origins returns the names of all origins, in the order of their numbers.
func Origins() []string { return append([]string(nil), origins...) }

// Frame is what a profile knows of a function.
type Frame struct {
	Name    string
	File    string // source file; empty: unknown
	Mapping string // file of the mapping; empty: unknown
}

// Package returns the import path of the package of a Go function, by the name that the linker
// gives it: net/http of "net/http.(*conn).serve", example.org/x of "example.org/x.Map[...]".
// Functions that the compiler makes for types belong to package runtime. It is empty if there is
// none in the name.
func Package(name string) string {
	if strings.HasPrefix(name, "type:.") || strings.HasPrefix(name, "go:") {
		return "runtime"
	}
	// Type arguments and receivers may have paths of their own.
	end := len(name)
	if i := strings.IndexAny(name, "[("); i >= 0 {
		end = i
	}
	slash := strings.LastIndexByte(name[:end], '/') + 1
	dot := strings.IndexByte(name[slash:end], '.')
	if dot < 0 {
		return ""
	}
	pkg := name[:slash+dot]
	// The linker escapes dots in the last element, as in gopkg.in/yaml%2ev3.
	if plain, err := url.PathUnescape(pkg); err == nil {
		pkg = plain
	}
	return pkg
}

// Short returns the name of a function without the directories of its package.
func Short(name string) string {
	end := len(name)
	if i := strings.IndexAny(name, "[( "); i >= 0 {
		end = i
	}
	if slash := strings.LastIndexByte(name[:end], '/'); slash >= 0 {
		return name[slash+1:]
	}
	return name
}

// IsGo reports whether a frame is of Go code, or of assembly in a Go package.
func (f Frame) IsGo() bool {
	if f.File != "" {
		return strings.HasSuffix(f.File, ".go") || strings.HasSuffix(f.File, ".s")
	}
	return Package(f.Name) != "" && !strings.Contains(f.Name, "::")
}

// IsKernel reports whether a frame is of the kernel.
func (f Frame) IsKernel() bool { return strings.HasPrefix(f.Mapping, "[kernel") }

// OriginOf returns whose code a frame is. module is the path of the program's main module;
// without it only package main is user code, and its other packages are libraries.
func OriginOf(f Frame, module string) Origin {
	if f.IsKernel() {
		return Kernel
	}
	if f.IsGo() {
		return originOfPackage(Package(f.Name), module)
	}
	base := path.Base(f.Mapping)
	switch {
	case f.Mapping == "" && f.File == "":
		return Unknown
	case strings.HasPrefix(base, "[vdso") || cLibrary(base):
		return Standard
	case strings.HasSuffix(base, ".so") || strings.Contains(base, ".so."):
		return Library
	}
	return User
}

// cLibrary reports whether a file is a part of the C library.
func cLibrary(base string) bool {
	for _, name := range []string{"libc.", "libc-", "libm.", "libpthread", "libdl.", "ld-linux", "ld-musl", "libgcc_s", "libstdc++"} {
		if strings.HasPrefix(base, name) {
			return true
		}
	}
	return false
}

// originOfPackage returns the origin of a Go package. Import paths of the standard library have
// no dot in their first element.
func originOfPackage(pkg, module string) Origin {
	switch {
	case pkg == "main" || within(pkg, module):
		return User
	case pkg == "" || within(pkg, "runtime") && pkg != "runtime/pprof" && pkg != "runtime/trace" && pkg != "runtime/debug", within(pkg, "internal/runtime"):
		return Runtime // bodies in assembly have no package
	}
	first, _, _ := strings.Cut(pkg, "/")
	if first != "" && !strings.Contains(first, ".") { // also those that it vendors
		return Standard
	}
	return Library
}

// within reports whether a package is a path or below it.
func within(pkg, parent string) bool {
	rest, ok := strings.CutPrefix(pkg, parent)
	return parent != "" && ok && (rest == "" || rest[0] == '/')
}
