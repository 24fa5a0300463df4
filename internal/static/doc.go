// Package static decides how to answer a request for a file: which file a path names
// ([Name]), whether it may be opened ([Open]), which of its variants the client prefers
// ([Codings], [BestType]), whether the client already has it ([Conditions]), and which
// parts of it are requested ([ParseRange]).
//
// It does not depend on connections or exchanges: its input is the text of header fields,
// its output are decisions. The rules are those of RFC 9110, sections 12 to 14.
package static
