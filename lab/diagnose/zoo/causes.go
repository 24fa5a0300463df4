package zoo

import "slices"

// Causes are the stable ids of the causes that a diagnosis can name.
var Causes = []string{
	"gc-pressure", "unpooled-buffers", "json-reflection", "lock-contention", "goroutine-per-message",
	"channel-contention", "pool-too-small-db", "pool-too-small-http", "http-no-reuse", "dns-per-request",
	"tls-full-handshakes", "keepalive-off", "small-writes", "delayed-ack", "accept-queue",
	"descriptor-limit", "ephemeral-ports", "cpu-quota", "gomaxprocs-quota", "memory-limit",
	"gogc-thrash", "goroutine-leak", "descriptor-leak", "timer-leak", "memory-leak", "blocking-file",
	"blocking-cgo", "sync-logging", "regexp-compile", "template-parse", "context-timers",
	"panics-recovered", "retry-storm", "slow-downstream", "large-headers", "compression-level",
	"body-copy", "cpu-bound", "n-plus-one", "generator-limit",
	"cpu-shared", "sleeping", "rate-limited", "disk-sync", "false-sharing",
}

func known(id string) bool { return slices.Contains(Causes, id) }
