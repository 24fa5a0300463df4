// Package topics is the fan-out of the subjects whose stacks bring none: topics, and a channel
// a subscriber, as services on these stacks do it.
package topics
