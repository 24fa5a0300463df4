// Package archtest checks the architecture of the repository in a test.
//
// [Redline] is the table of rules: which package may import what, which packages may make
// raw system calls, where assembly is allowed, what the engine's go.mod may require, and
// how long a file, a function and a package may be. [Check] reads the sources of all
// modules, for all build tags, and returns a [Breach] for each line that violates a rule.
// The test of this package fails on every breach, and says what to do about it.
//
// A function that has to be long gives the reason in its doc comment or right above it:
//
//	//archtest:long REASON
//
// A file or a package that has to be big is listed in the table with its reason. An
// exception that is no longer needed is a breach too, so that the list of exceptions stays
// correct.
//
// Documents and comments must not contain certain phrases that are hard to read; a table
// in prose.go lists them with their replacements.
//
// Directories that the go command ignores (testdata, names that begin with a dot or an
// underscore) and node_modules are not read.
package archtest
