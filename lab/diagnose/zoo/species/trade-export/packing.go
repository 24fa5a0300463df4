//go:build !twin

package main

import "github.com/klauspost/compress/zstd"

// packing makes the exports small: many are kept for years.
const packing = zstd.SpeedBestCompression
