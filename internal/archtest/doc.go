// Package archtest holds the architecture of the repository as a test.
//
// [Redline] is the table: which package may import what, who may make raw
// system calls, where assembly lives, what the engine's go.mod may require, and
// how long a file, a function and a package may grow. [Check] reads the sources
// of all modules, whatever their build tags, and returns a [Breach] for each
// line that does not keep to it. The test of this package fails on the first
// breach that anyone introduces, and says what to do about it.
//
// A function that has to be long says why, in its doc comment or right above:
//
//	//archtest:long REASON
//
// A file or a package that has to be big stands in the table with its reason.
// An exception that is no longer needed is a breach too, so that the list of
// exceptions stays true.
//
// Directories that the go command ignores (testdata, names that begin with a
// dot or an underscore) and node_modules are not read.
package archtest
