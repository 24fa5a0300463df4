// Package jsonpath finds one value in a JSON text without decoding the rest. A
// path is what RFC 9535 calls a singular query: $ for the whole, .name or
// ['name'] for a member, [0] for an element, [-1] for the last one.
//
//	$.user.roles[0]    $['first name']    $[-1].id
//
// It does not allocate while it searches. The text up to the value has to be
// well-formed enough to be followed; what comes after the value is not looked at.
package jsonpath
