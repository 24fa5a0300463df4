// Package tree evaluates the samples of a profile: by function, by class, and as a tree of
// calls, of one profile or as the difference of two.
//
//	*profile.Profile ── Read ──▶ Samples ─┬─ Functions ──▶ top tables, baselines
//	                                      ├─ Classes ────▶ gc, alloc, json, ...
//	                                      └─ Calls, Diff ▶ call tree, flame graphs
//
// Its memory is bounded, whatever the profile: see [profile.Decode] of the parent package.
package tree
