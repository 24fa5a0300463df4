// Package machine describes the machine of a measurement, finds what disturbs measurements
// on it, and changes settings temporarily.
//
// [Fingerprint] is part of every results file. [Host.Disturbances] lists what makes
// measurements hard to repeat, with a change that helps if there is one. [Apply] makes such
// changes after it has passed the old values to a guard, which restores them even if the
// command is killed.
package machine
