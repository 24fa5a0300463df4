//go:build !race

package learn

const slower = 1
