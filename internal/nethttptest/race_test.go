//go:build race

package nethttptest

// sampleTLS is one of how many trials is played over TLS: the race detector makes it slow.
const sampleTLS = 3
