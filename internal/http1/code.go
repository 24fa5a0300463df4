package http1

// Code is the outcome of a step of a parser or decoder: more input is needed, the message
// part is complete, or the message is refused. A refusal defines the status of the answer;
// after it the connection closes, and nothing that follows is parsed.
type Code uint8

// Outcomes and refusals.
const (
	NeedMore Code = iota
	Complete

	ErrMethod             // 400
	ErrMethodLong         // 501
	ErrTarget             // 400
	ErrTargetForm         // 400
	ErrTargetEscape       // 400
	ErrTargetLong         // 414
	ErrVersion            // 400
	ErrVersionUnsupported // 505
	ErrEmptyLines         // 400
	ErrLineEnd            // 400
	ErrFold               // 400
	ErrFieldName          // 400
	ErrFieldValue         // 400
	ErrHeadLarge          // 431
	ErrFieldCount         // 431

	ErrHostMissing     // 400
	ErrHostRepeated    // 400
	ErrHost            // 400
	ErrLength          // 400
	ErrLengthRepeated  // 400
	ErrLengthAndCoding // 400
	ErrCoding          // 400
	ErrCodingHTTP10    // 400
	ErrCodingUnknown   // 501
	ErrConnection      // 400
	ErrExpect          // 417
	ErrBodyLarge       // 413

	ErrChunkSize     // 400
	ErrChunkOverflow // 400
	ErrChunkExt      // 400
	ErrChunkExtLong  // 400
	ErrChunkLineEnd  // 400
	ErrChunkOverhead // 400
	ErrChunkData     // 400
	ErrTrailerField  // 400
	ErrTrailerLarge  // 431

	numCodes
)

var codes = [numCodes]struct {
	status int
	reason string
}{
	NeedMore: {0, "need more input"},
	Complete: {0, "complete"},

	ErrMethod:             {400, "invalid method"},
	ErrMethodLong:         {501, "method too long"},
	ErrTarget:             {400, "invalid character in request target"},
	ErrTargetForm:         {400, "request target does not fit the method"},
	ErrTargetEscape:       {400, "invalid percent-encoding in request target"},
	ErrTargetLong:         {414, "request target too long"},
	ErrVersion:            {400, "invalid HTTP version"},
	ErrVersionUnsupported: {505, "HTTP version not supported"},
	ErrEmptyLines:         {400, "too many empty lines before the request"},
	ErrLineEnd:            {400, "line not ended by CRLF"},
	ErrFold:               {400, "folded field line"},
	ErrFieldName:          {400, "invalid field name"},
	ErrFieldValue:         {400, "invalid character in field value"},
	ErrHeadLarge:          {431, "header section too large"},
	ErrFieldCount:         {431, "too many fields"},

	ErrHostMissing:     {400, "missing Host"},
	ErrHostRepeated:    {400, "more than one Host"},
	ErrHost:            {400, "invalid Host"},
	ErrLength:          {400, "invalid Content-Length"},
	ErrLengthRepeated:  {400, "more than one Content-Length"},
	ErrLengthAndCoding: {400, "both Content-Length and Transfer-Encoding"},
	ErrCoding:          {400, "invalid Transfer-Encoding"},
	ErrCodingHTTP10:    {400, "Transfer-Encoding in HTTP/1.0"},
	ErrCodingUnknown:   {501, "transfer coding not implemented"},
	ErrConnection:      {400, "invalid Connection"},
	ErrExpect:          {417, "unknown expectation"},
	ErrBodyLarge:       {413, "content too large"},

	ErrChunkSize:     {400, "invalid chunk size"},
	ErrChunkOverflow: {400, "chunk size out of range"},
	ErrChunkExt:      {400, "invalid chunk extension"},
	ErrChunkExtLong:  {400, "chunk extension too long"},
	ErrChunkLineEnd:  {400, "chunk line not ended by CRLF"},
	ErrChunkOverhead: {400, "too much chunk overhead"},
	ErrChunkData:     {400, "chunk not ended by CRLF"},
	ErrTrailerField:  {400, "field not allowed in trailers"},
	ErrTrailerLarge:  {431, "trailer section too large"},
}

// Refused reports whether the code is a refusal.
func (c Code) Refused() bool { return c > Complete }

// Status returns the HTTP status to answer a refusal with, and 0 for [NeedMore]
// and [Complete].
func (c Code) Status() int {
	if c >= numCodes {
		return 500
	}
	return codes[c].status
}

// String returns a fixed description that may be shown to the client: it contains no part
// of the request.
func (c Code) String() string {
	if c >= numCodes {
		return "unknown outcome"
	}
	return codes[c].reason
}
