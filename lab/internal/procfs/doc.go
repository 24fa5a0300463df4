// Package procfs reads /proc and /sys of Linux.
//
// Every reader is a method of [FS], the directory that contains proc and sys, so that tests
// can read a tree of their own files. The real one is [Host].
package procfs
