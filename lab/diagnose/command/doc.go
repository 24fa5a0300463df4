// Package command is the verb diagnose: it finds the server, gathers the evidence, applies the
// rules, tries changes, and prints and saves the report.
package command
