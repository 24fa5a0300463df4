//go:build !linux

// Command limit needs epoll, and so Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "limit: this subject runs on Linux alone")
	os.Exit(1)
}
