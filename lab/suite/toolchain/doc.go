// Package toolchain builds Go programs with chosen versions of Go. A version is a release
// ("1.25.3"), a minor version whose newest patch is taken ("1.25"), or "local". The command go
// downloads what is missing through the module proxy and verifies it, as with GOTOOLCHAIN
// (https://go.dev/doc/toolchain).
package toolchain
