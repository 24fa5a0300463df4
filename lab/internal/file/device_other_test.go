//go:build unix && !linux

package file

import "syscall"

func mknod(string) error { return syscall.EPERM }
