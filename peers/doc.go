// Package peers holds the subjects: servers that answer the same small contract,
// one command a stack, for the lab to compare. README.md has the contract; the
// tests of this package hold every subject to it.
package peers
