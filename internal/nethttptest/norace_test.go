//go:build !race

package nethttptest

// sampleTLS is one of how many trials is played over TLS.
const sampleTLS = 1
