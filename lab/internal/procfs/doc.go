// Package procfs reads what Linux says in /proc and /sys.
//
// Every reader is a method of [FS], the directory that /proc and /sys are looked
// up in, so that tests read a tree of their own. The real one is [Host].
package procfs
