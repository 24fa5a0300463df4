// Package verdict judges whether the figures of a run are valid for the server. Each
// function is one gate, or the gates of one kind of run, and defines its limit. The text of
// a failed gate says what disturbed the measurement, and what to do about it.
package verdict
