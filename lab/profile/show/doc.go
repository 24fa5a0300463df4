// Package show lays out profiles as text: tables of functions and classes, call trees, and the
// difference of two profiles.
package show
