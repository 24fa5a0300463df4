// Package peers contains the subjects: servers that fulfil the same small contract, one
// command per stack, for the lab to compare. README.md describes the contract; the tests of
// this package check every subject against it.
package peers
