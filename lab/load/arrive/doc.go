// Package arrive says when the requests of an open loop are due, and which
// connection each of them gets. It is pure: no clock, no goroutine, no I/O.
//
// A [Plan] is a rate over time. [Times] walks through it one arrival after the
// other and keeps a few words, however long the plan is: the arrivals of a plan
// are a function of the plan, so none has to be stored. A [Queue] holds a walk
// against the connections that are free, and keeps the books of who waited.
//
// # Rate over time
//
//	rate                       Plan{Rate: 1000, Stages: 30s:1000,60s:5000}
//	 │            ┌─ burst     with Burst 1.5x/10s, drawn once
//	 │       ┌┐ ／
//	 │──────┘└／
//	 └───────────────── time
//
// The rate begins at Plan.Rate. A stage takes the rate to its own in a straight
// line over its duration, as the stages of k6 do; a stage of no duration is a
// step. After the last stage the rate stays. A burst multiplies all that.
//
// Let N(t) be the integral of the rate. Constant arrivals are where N passes 0,
// 1, 2, ...: the first comes at once, and [0, t) holds N(t) of them, rounded up.
// Poisson arrivals are where N passes the sums of exponential variates of mean
// 1, which is a Poisson process of that rate, constant or not (time change;
// Cinlar 1975).
package arrive
