// Package cputime reads how much CPU time processes have used: that of a server
// under load, and that of the generator itself.
package cputime
