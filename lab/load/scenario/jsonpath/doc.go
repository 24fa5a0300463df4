// Package jsonpath finds one value in a JSON text without decoding the rest. A path is a
// singular query as defined in RFC 9535: $ for the whole text, .name or ['name'] for a
// member, [0] for an element, [-1] for the last one.
//
//	$.user.roles[0]    $['first name']    $[-1].id
//
// A search does not allocate. The text up to the value must be well-formed enough to be
// parsed; the text after the value is ignored.
package jsonpath
