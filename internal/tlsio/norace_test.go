//go:build !race

package tlsio

// most is how many allocations a request may cost both sides: all are in crypto/tls.
const most = 3
