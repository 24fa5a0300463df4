//go:build twin

package main

// streams are the connections to the warehouse.
const streams = 512
