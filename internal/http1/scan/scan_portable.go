//go:build !amd64 || purego

package scan

func (w *Window) fill(b []byte, from int) int { return w.fillGeneric(b, from) }

func value(b []byte) int { return valueGeneric(b) }

func token(b []byte) int { return tokenGeneric(b) }

func path(b []byte) int { return pathGeneric(b) }

func query(b []byte) int { return queryGeneric(b) }
