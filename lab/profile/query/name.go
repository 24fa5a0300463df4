package query

import (
	"net/url"
	"strings"
)

// Kind is whose code a function is.
type Kind string

// Kinds of code.
const (
	User     Kind = "user"     // of the program itself
	Library  Kind = "library"  // of a module that it requires
	Standard Kind = "standard" // of the standard library
	Runtime  Kind = "runtime"  // of the language's runtime
	Native   Kind = "native"   // C, C++, Rust and others without packages
	Kernel   Kind = "kernel"
	Unknown  Kind = "unknown" // the address has no function
)

// Split splits the name that the linker gives a Go function into the import path of its package
// and the rest: "net/http" and "(*conn).serve", "main" and "main.func1.2", "example.org/x" and
// "Map[...]". Functions that the compiler makes for types belong to package runtime. The package
// is empty if there is none in the name.
func Split(name string) (pkg, fn string) {
	if rest, ok := strings.CutPrefix(name, "type:."); ok {
		return "runtime", "type:." + rest
	}
	if strings.HasPrefix(name, "go:") {
		return "runtime", name
	}
	// Type arguments and receivers may have paths of their own.
	end := len(name)
	if i := strings.IndexAny(name, "[("); i >= 0 {
		end = i
	}
	slash := strings.LastIndexByte(name[:end], '/') + 1
	dot := strings.IndexByte(name[slash:end], '.')
	if dot < 0 {
		return "", name
	}
	pkg, fn = name[:slash+dot], name[slash+dot+1:]
	// The linker escapes dots in the last element, as in gopkg.in/yaml%2ev3.
	if plain, err := url.PathUnescape(pkg); err == nil {
		pkg = plain
	}
	return pkg, fn
}

// IsStandard reports whether an import path is of Go's standard library: its first element has
// no dot. It is wrong for modules whose path has no dot either; [Options.Module] helps.
func IsStandard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return first != "" && first != "main" && !strings.Contains(first, ".")
}

// runtimePackages are, with those below them, parts of Go's runtime.
var runtimePackages = []string{"runtime", "internal/runtime", "internal/bytealg", "internal/abi", "internal/cpu", "internal/chacha8rand"}

// isRuntime reports whether a package is a part of Go's runtime.
func isRuntime(pkg string) bool {
	for _, r := range runtimePackages {
		if below(pkg, r) {
			return pkg != "runtime/pprof" && pkg != "runtime/trace"
		}
	}
	return false
}

// below reports whether a path is dir or in it.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

// compiled are the starts of names that compilers at run time write for functions of scripts.
var compiled = []string{"py::", "JS:", "LazyCompile:", "Function:", "Script:", "Eval:"}

// script classifies a function of a script.
func script(name string) (Kind, bool) {
	for _, start := range compiled {
		rest, ok := strings.CutPrefix(name, start)
		if !ok {
			continue
		}
		switch {
		case strings.Contains(rest, "node_modules/"), strings.Contains(rest, "site-packages/"), strings.Contains(rest, "dist-packages/"):
			return Library, true
		case strings.Contains(rest, "node:"), strings.Contains(rest, "/lib/python"), strings.Contains(rest, "<frozen "):
			return Standard, true
		case start == "py::" || strings.Contains(rest, "/"):
			return User, true
		}
		return Runtime, true
	}
	return "", false
}
