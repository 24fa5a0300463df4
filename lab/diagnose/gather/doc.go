// Package gather collects the evidence of a diagnosis: it loads a server, and looks at it from
// outside at the same time.
//
//	sweep   closed loops of 1, 2, 4 ... connections ──▶ ceiling, knee, scalability law
//	loads   a tenth and half of the ceiling (Poisson arrivals), then the knee (closed loop);
//	        in each window all probes: watch, stacks, goroutines, kernel
//	rest    what is left when the load is over
package gather
