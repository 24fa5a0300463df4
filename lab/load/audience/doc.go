// Package audience is the load generator of subscribers: a run of package listen, told
// in the events of package load.
//
// Its phases are those of load.Run. All subscribers connect, and the warm-up begins when
// each has stood once, or no more come: who is missing then is the result's affair. The
// warm-up is as long as it was asked for. How many events come in the window is the
// server's decision, so that there is no rate to wait for.
package audience
