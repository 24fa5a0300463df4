//go:build !cgo

package main

import "syscall"

func wait(none *syscall.FdSet, limit *syscall.Timeval) (int, error) {
	return syscall.Select(0, none, nil, nil, limit)
}
