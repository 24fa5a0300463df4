// Package output prints the report of a trace for people: at most a page, on the screen that
// shows it.
package output
