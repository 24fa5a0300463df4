// Package format writes events as bytes of a response: as server-sent events ([SSE]), as
// lines of JSON ([NDJSON]), or as length-delimited protocol buffers ([Protobuf]). A type of
// your own that implements [Format] is a fourth.
//
// Formats only append to slices: they hold no state, and one value serves any number of
// goroutines.
package format
