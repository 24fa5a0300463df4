// Package baseline keeps what each function of a server costs, so that a later measurement can be
// compared with it.
//
//	windows: tree.Samples ── Add ──▶ Vector ── Save ──▶ NAME.json
//	                                   │
//	                                   └── Compare ──▶ Comparison: what moved beyond noise
//
// A window is one profile. Its values are those of each request if the profile knows its requests,
// else shares of the total. Windows of two measurements are not paired: they are compared with
// the rank sum test, corrected for all questions that were asked (docs/adr/0051-baselines.md).
package baseline
