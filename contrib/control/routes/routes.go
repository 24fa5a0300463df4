// Package routes names the requests of net/http in execution traces by their routes, for redline
// trace. It needs only the standard library.
package routes

import (
	"cmp"
	"net/http"
	"runtime/trace"
)

// Category is the category of the messages that [Trace] logs.
const Category = "http.route"

// Trace names the requests of a handler. A trace has stacks only of moments at which something
// happens: of a handler that neither waits nor makes a system call it has none, and does not tell
// which one answered. Trace logs the pattern that [http.ServeMux] has matched, so put it around the
// whole mux; without a pattern it logs the method. While no trace is taken, it costs a load and a
// branch.
func Trace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !trace.IsEnabled() {
			next.ServeHTTP(w, r)
			return
		}
		defer func() { // of a handler that panics, too
			trace.Log(r.Context(), Category, cmp.Or(r.Pattern, r.Method+" (no pattern)"))
		}()
		next.ServeHTTP(w, r)
	})
}
