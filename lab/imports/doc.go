// Package imports turns what other tools have written into scenarios of redline load: curl
// commands, HAR files of browsers, OpenAPI documents and vegeta targets. docs/scenario.md
// describes the result.
//
// A reader ([Curl], [HAR], [OpenAPI], [Vegeta]) takes the bytes of a source and returns a
// [Scenario]; [Scenario.YAML] writes the file. A scenario loads one server: [Scenario.Finish]
// chooses it and moves credentials and common header fields. Whatever cannot be expressed in a
// scenario is either an error or a note, never dropped silently.
//
// The package opens no sockets and no files. Files that a source names are read by a function
// of the caller, and only if their content has to be part of the scenario.
package imports
