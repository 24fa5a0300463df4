//go:build !race

package redline_test

const slower = 1
