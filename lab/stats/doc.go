// Package stats provides the statistics of comparisons: what can be concluded about two
// servers that were measured side by side in a few blocks.
//
// The unit of analysis is the block: every subject ran once in it, so a drift of the
// machine affects all of them, and not their ratio. The input is therefore one log ratio
// per block ([LogRatios]), the output one [Outcome] per subject ([Family]):
//
//	log ratios ─┬─ HodgesLehmann ──────────── estimate ──┐
//	            ├─ HodgesLehmannInterval ──── interval ──┤
//	            └─ SignedRank ── Holm ─────── p ─────────┼─ verdict
//	A/A ────────── HodgesLehmannInterval ──── floor ─────┘
//
// Subjects that were compared with the same baseline, workload and metric are a family:
// their p-values are adjusted together. The A/A comparison, the baseline against itself, is
// not part of the family; it determines the noise floor.
//
// Nothing assumes normal noise. Blocks are assumed to be independent of each other, and log
// ratios to be roughly symmetric around their middle, as is the ratio of two measurements
// with similar noise.
//
// All results are reproducible: the random numbers of the bootstrap depend only on a seed,
// and the order of values or subjects has no influence.
package stats
