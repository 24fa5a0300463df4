// Package handlers sees from outside which handlers a server of net/http calls, and when: a trace
// has stacks only of moments at which something happens, and in short handlers nothing does.
//
//	kernel: net/http.HandlerFunc.ServeHTTP is entered ──▶ time, thread, the function's value ──▶ its name
//
// The kernel puts a breakpoint on the function, which costs some microseconds a call while it is
// there, and needs a permission (CAP_PERFMON or root). It is there in all processes of the program,
// and the kernel takes it away with the last descriptor of the events, also if the observer is killed.
// Handlers that are no functions are not seen.
package handlers
