// Package stats is the statistics of comparison: what may be said about two
// servers that were measured side by side in a few blocks.
//
// The unit of analysis is the block: every subject ran once in it, so that a
// drift of the machine is common to all of them and leaves their ratio. What
// comes in is therefore one log ratio a block ([LogRatios]), what comes out one
// [Outcome] a subject ([Family]):
//
//	log ratios ─┬─ HodgesLehmann ──────────── estimate ──┐
//	            ├─ HodgesLehmannInterval ──── interval ──┤
//	            └─ SignedRank ── Holm ─────── p ─────────┼─ verdict
//	A/A ────────── HodgesLehmannInterval ──── floor ─────┘
//
// Subjects that were compared with one baseline, under one workload and in one
// metric, are a family: they are corrected together. The A/A comparison, the
// baseline against itself, is not part of it; it sets the noise floor.
//
// Nothing here assumes normal noise. Blocks are taken to be independent of each
// other, and log ratios to be roughly symmetric around their middle, which a
// ratio of two measurements with like noise is.
//
// All results are reproducible: the random numbers of the bootstrap come from a
// seed, and the order in which values or subjects are given has no influence.
package stats
