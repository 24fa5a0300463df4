// Package oom is what becomes of a server whose memory is bounded while its load is raised: the
// steps, what gave way first, and whom the kernel killed. Judging is calculation; package command
// measures.
package oom
