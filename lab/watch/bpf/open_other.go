//go:build !linux

package bpf

import "fmt"

func open(int, bool) (source, error) {
	return nil, fmt.Errorf("eBPF is a part of Linux: %w", ErrUnavailable)
}
