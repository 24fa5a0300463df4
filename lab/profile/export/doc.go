// Package export writes profiles in the formats of other tools: those of speedscope and of
// collapsed stacks, which flamegraph.pl and inferno read.
package export
