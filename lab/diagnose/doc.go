// Package diagnose names what limits a server, from evidence.
//
//	load ────┐
//	watch ───┤                     ┌─ Rule ─┐
//	stacks ──┼──▶ Evidence ──▶ ────┼─ Rule ─┼──▶ Cause, ... ──▶ Rank ──▶ trials ──▶ Report
//	kernel ──┘                     └─ Rule ─┘
//
// A [Rule] looks for one cause in the [Evidence] and estimates what removing it would gain. The
// package calculates: other packages gather the evidence (gather), try changes (trial), and
// present the result (present).
//
// A rule uses what holds for servers in general: figures of the kernel and of the runtime, and
// names of the standard library, of the runtime and of well-known libraries in stacks. It never
// uses a name of the server's own code but to show it.
package diagnose
