// Package trial tries changes that need no code, such as another GOGC, and says what they did.
//
//	block 1   as it is   GOGC=400   as it is again   pinned
//	block 2   pinned     as it is   GOGC=400         as it is again
//	...       fresh processes, in random order
//
// A trial is a comparison like those of `redline bench`: the unit is the block, the server as it
// is runs twice in each, and a change counts only beyond the noise floor that these two show.
package trial
