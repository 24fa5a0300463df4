// Package static decides what a request for a file gets: which file a path names
// ([Name]), whether it may be opened ([Open]), which of its variants the client
// prefers ([Codings], [BestType]), whether the client has it already
// ([Conditions]), and which parts of it are asked for ([ParseRange]).
//
// It knows nothing of connections and exchanges: text of header fields goes in,
// decisions come out. The rules are those of RFC 9110, sections 12 to 14.
package static
