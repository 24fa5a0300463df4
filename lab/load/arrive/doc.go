// Package arrive computes when the requests of an open loop are due, and which connection
// each of them uses. It is pure: no clock, no goroutine, no I/O.
//
// A [Plan] is a rate over time. [Times] iterates over its arrivals and needs a few words of
// memory, however long the plan is: the arrivals are a function of the plan, so none has to
// be stored. A [Queue] assigns arrivals to free connections, and records which of them
// waited.
//
// # Rate over time
//
//	rate                       Plan{Rate: 1000, Stages: 30s:1000,60s:5000}
//	 │            ┌─ burst     with Burst 1.5x/10s, drawn once
//	 │       ┌┐ ／
//	 │──────┘└／
//	 └───────────────── time
//
// The rate begins at Plan.Rate. A stage changes the rate linearly to its own over its
// duration, as the stages of k6 do; a stage of duration 0 is a step. After the last stage
// the rate remains constant. A burst multiplies the result.
//
// Let N(t) be the integral of the rate. Constant arrivals are at the times when N passes 0,
// 1, 2, ...: the first one is immediate, and [0, t) contains N(t) of them, rounded up.
// Poisson arrivals are at the times when N passes the sums of exponential variates of mean
// 1, which is a Poisson process of that rate, constant or not (time change; Cinlar 1975).
package arrive
