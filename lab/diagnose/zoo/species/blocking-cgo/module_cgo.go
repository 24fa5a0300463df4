//go:build cgo

package main

/*
#include <time.h>

// hsm_key derives the session's key. The module needs about 4 ms.
static unsigned int hsm_key(unsigned int slot) {
	struct timespec t = {0, 4000000};
	nanosleep(&t, NULL);
	return slot * 2654435761u;
}
*/
import "C"

// derive asks the security module for the key of a slot.
func derive(slot uint32) uint32 { return uint32(C.hsm_key(C.uint(slot))) }
