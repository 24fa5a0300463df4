//go:build !twin

package main

// limits applies what the operators' guide asks for.
func limits() error { return setFiles(64) }
