// Package machine says what a measurement ran on and what on it disturbs
// measurements, and changes what can be changed, for a while.
//
// [Fingerprint] goes into every results file. [Host.Disturbances] lists what
// stands between a measurement and its repetition, with the change that would
// help where there is one. [Apply] makes such changes after it has handed
// the old values to a guard, which puts them back even when the command is
// killed.
package machine
