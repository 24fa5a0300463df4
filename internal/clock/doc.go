// Package clock provides time for the cost of a load: a process-wide coarse clock that
// loops refresh once per round, the bytes of the HTTP Date field, and timer wheels whose
// entries are updated lazily.
//
// A deadline is a number in the connection; moving it is a store. The wheel's entry stays
// where it is, and when it expires, the loop reads the number and puts the entry back if
// there is time left:
//
//	deadline      5 s ─▶ 6 s ─▶ 9 s        (three requests, three stores)
//	entry         5 s                      (fires, sees 9 s, goes to 9 s)
package clock
