// Package tickets is a stub.
package tickets
