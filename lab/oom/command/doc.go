// Package command is the verb oom: it starts a server in a control group with little memory, raises
// the load until it dies or holds the last step, and reports what gave way.
package command
