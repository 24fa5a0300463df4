// Package verdict judges whether the figures of a run are those of the server: each
// function is one gate, or the gates of one kind of run, and holds its limit. A gate that
// fails says what disturbed the measurement, and what to do about it.
package verdict
