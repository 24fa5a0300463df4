// Package kernel reads the figures of a process that Linux has: from /proc, control groups,
// pressure stall information and netlink. Each kind is one sampler of package watch, so that
// one that is slow or forbidden does not delay or hide the others.
package kernel
