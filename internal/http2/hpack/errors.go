package hpack

// A Code is a reason to refuse a header block. All of them are a COMPRESSION_ERROR of
// RFC 9113, 4.3: the connection is lost.
type Code uint8

// The reasons.
const (
	ErrTruncated Code = iota + 1 // the block ends within a field line
	ErrInteger                   // an integer of more than 28 bits (RFC 7541, 5.1)
	ErrIndex                     // index 0, or one beyond the tables (RFC 7541, 2.3.3)
	ErrHuffman                   // invalid padding, or the code for the end of a string (RFC 7541, 5.2)
	ErrUpdate                    // a size update that is too large, not at the start, or the third one (RFC 7541, 4.2)
)

var reasons = [...]string{
	ErrTruncated: "header block ends within a field line",
	ErrInteger:   "integer in header block is too large",
	ErrIndex:     "header block refers to a line that neither table has",
	ErrHuffman:   "string in header block is not valid Huffman code",
	ErrUpdate:    "size update in header block is too large or out of place",
}

// Error describes what is wrong with the block.
func (c Code) Error() string {
	if int(c) < len(reasons) && c != 0 {
		return reasons[c]
	}
	return "unknown error in header block"
}
