// Package bus carries the messages of a fleet over NATS, for workers on other
// machines.
//
// The server is embedded in the coordinator ([Listen]) or an existing one. Each run has its
// own subjects,
//
//	redline.RUN.coordinator    messages from workers
//	redline.RUN.worker.ID      messages to one worker
//
// and a token that coordinator and workers share. The token gives access to the embedded
// server and seals each message (HMAC-SHA256 over subject and payload), so that other users
// of a shared server can forge neither orders nor results. The token itself is never sent.
// Messages are not encrypted: if requests contain secrets, use a private server or one with
// TLS.
//
// NATS does not store messages (no JetStream): a run takes minutes, and coordinator and
// workers detect each other's silence.
package bus
