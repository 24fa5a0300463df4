//go:build twin

package main

import "github.com/klauspost/compress/zstd"

// packing makes the exports small enough.
const packing = zstd.SpeedFastest
