// Package serial takes the place of an event loop where there is none: it runs functions one
// after another on a goroutine, which exists while there is something to run.
package serial
