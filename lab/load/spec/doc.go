// Package spec defines the input and output of a load generator: it receives a [Spec] and
// returns [Event] values, the last of which holds a [Result]. All of it is data, sent as JSON
// between processes; other packages generate the load.
package spec
