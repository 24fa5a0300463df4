// Package rules finds the causes that limit a server.
//
// Each rule is a value: its id, what it means, what it needs, how it estimates the gain, and a
// function that looks for the cause in a [view] of the evidence. A view has what several rules
// need: the share of the CPUs in use, the goroutines that work for requests, and what they wait
// for. Rules know the standard library, the runtime, well-known libraries and the kernel by
// name, and nothing of the server's own code.
//
// [Find] applies all rules. What a specific cause explains is then subtracted from the general
// ones: a regular expression compiled by each request also allocates, and so causes collections.
package rules
