package exchange

import "bytes"

// Expectations reads the value of an Expect field (RFC 9110, 10.1.1): a list, whose empty elements
// are ignored (5.6.1.2). It reports whether the client waits for 100 (Continue) before it sends its
// content, and whether that is all it expects.
func Expectations(value []byte) (continues, ok bool) {
	for more := true; more; {
		var item []byte
		item, value, more = bytes.Cut(value, []byte{','})
		switch item = bytes.Trim(item, " \t"); {
		case FoldedEqual(string(item), "100-continue"):
			continues = true
		case len(item) > 0:
			return false, false
		}
	}
	return continues, true
}
