// Package spec is what a load generator is asked to do, and what comes of it: a [Spec]
// goes in, [Event] values come out, and the last of them has a [Result]. All of it is
// data that travels as JSON between processes; what makes the load is in other packages.
package spec
