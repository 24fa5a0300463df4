// Package memory has a broker and a registry of package push that live in one process: for
// several hubs of a program, and for tests of what runs on a cluster.
package memory
