// Package frames says what a frame of a stack is, by its names: of which package, whose code,
// and for what the Go runtime or a common library spends the time.
package frames
