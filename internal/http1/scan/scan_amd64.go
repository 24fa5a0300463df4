//go:build !purego

package scan

import "golang.org/x/sys/cpu"

// useAVX2 selects the vector code. BMI1 is required because the assembly counts trailing
// zeros with TZCNT, which older processors would execute as BSF.
var useAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasBMI1

// vector is the minimum number of bytes that the assembly processes: one register.
const vector = 32

func (w *Window) fill(b []byte, from int) int {
	if len(b) < vector || !useAVX2 {
		return w.fillGeneric(b, from)
	}
	if uint(from) > uint(len(b)) {
		panic("scan: window begins outside the bytes")
	}
	return fillAVX2(w, b, from)
}

func value(b []byte) int {
	if len(b) < vector || !useAVX2 {
		return valueGeneric(b)
	}
	return valueAVX2(b)
}

func token(b []byte) int {
	if len(b) < vector || !useAVX2 {
		return tokenGeneric(b)
	}
	return tokenAVX2(b)
}

func path(b []byte) int {
	if len(b) < vector || !useAVX2 {
		return pathGeneric(b)
	}
	return pathAVX2(b)
}

func query(b []byte) int {
	if len(b) < vector || !useAVX2 {
		return queryGeneric(b)
	}
	return queryAVX2(b)
}

// fillAVX2 requires len(b) >= 32 and 0 <= from <= len(b).
//
//go:noescape
func fillAVX2(w *Window, b []byte, from int) int

// valueAVX2 requires len(b) >= 32.
//
//go:noescape
func valueAVX2(b []byte) int

// tokenAVX2 requires len(b) >= 32.
//
//go:noescape
func tokenAVX2(b []byte) int

// pathAVX2 requires len(b) >= 32.
//
//go:noescape
func pathAVX2(b []byte) int

// queryAVX2 requires len(b) >= 32.
//
//go:noescape
func queryAVX2(b []byte) int
