// Package functab reads the table of functions of a Go binary (.gopclntab, since Go 1.20). The
// runtime prints tracebacks with it, so that no flag of the linker removes it: it has the names,
// files and lines of stripped binaries too, and where functions were inlined.
//
//	t, err := functab.New(section[functab.Search(section):])
//	t.Place(text, gofunc, read)
//	for _, f := range t.Frames(pc) {
//		fmt.Println(f.Func, f.File, f.Line) // innermost first
//	}
//
// The layout is that of runtime/symtab.go and runtime/symtabinl.go, which has not changed from
// Go 1.20 to Go 1.27. Nothing in a table is trusted: a number that points outside of it ends
// what is being read, and every loop is bounded. A Table is not changed by reading, and may be
// used by several goroutines if read may.
package functab
