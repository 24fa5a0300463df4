// Package contrib is the root of Redline's integrations with brokers, metrics
// and tracing. They live in a module of their own so that a user of the engine
// downloads none of their dependencies.
package contrib
