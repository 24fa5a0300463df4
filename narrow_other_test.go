//go:build !unix

package redline_test

import "syscall"

// narrowly makes an ordinary connection.
func narrowly(_, _ string, _ syscall.RawConn) error { return nil }
