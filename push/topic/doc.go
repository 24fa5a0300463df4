// Package topic holds the names of topics, the patterns that select them, and a tree that
// finds one by the other.
//
// A name is a text of segments separated by "/", such as "orders/eu/17". Segments may be
// empty, so that a URL is a name too. A pattern is a name in which a segment "*" stands for
// exactly one segment, and a last segment "**" for any number of them, none included:
//
//	orders/*     orders/17, not orders and not orders/eu/17
//	orders/**    orders, orders/17, orders/eu/17
//	**           every name
//
// A star that is only part of a segment has no meaning of its own. [Join] makes names of what
// users have chosen.
package topic
