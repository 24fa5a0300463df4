// Package meet brings the parts of a fleet together from two command lines: that of
// redline load, which leads, and that of redline worker.
package meet
