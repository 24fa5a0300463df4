// Package dist provides random durations, such as the time that a virtual user thinks
// between two requests. A [Dist] is written as text, in a scenario file or as the value of
// a flag:
//
//	120ms                  constant
//	constant:120ms         the long form of 120ms
//	uniform:50ms,150ms     from the first to the second, equally likely
//	exponential:100ms      with this mean
//	lognormal:120ms,0.8    with this median; the logarithm's deviation is 0.8
//	file:think.txt         one of the durations in the file, equally likely
//
// The lognormal distribution models people: half of them are faster than the median, and a
// few take many times as long. Its mean is the median times exp(sigma²/2), 165 ms above.
package dist
