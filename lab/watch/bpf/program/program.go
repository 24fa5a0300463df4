// Package program has the eBPF programs of the watch as an object file. `make bpf` compiles the
// sources in src; clang is needed for nothing else.
package program

import (
	"bytes"
	_ "embed"
	"fmt"

	"github.com/cilium/ebpf"
)

//go:embed watch_bpfel.o
var object []byte

// Spec reads the object. The caller sets the variables, and loads it.
func Spec() (*ebpf.CollectionSpec, error) {
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return nil, fmt.Errorf("read the eBPF programs: %w", err)
	}
	return spec, nil
}
