// Package bus carries the messages of a fleet over NATS, for workers on other
// machines.
//
// The server is embedded in the coordinator ([Listen]) or one that exists. A run
// has subjects of its own,
//
//	redline.RUN.coordinator    what workers send
//	redline.RUN.worker.ID      what is sent to one of them
//
// and a token that coordinator and workers share: it opens the embedded server,
// and each message bears a seal made with it (HMAC-SHA256 over subject and
// payload), so that on a server that others use as well nobody can order a
// worker about or make up a result. The token itself is not sent. What is sent
// can be read by those whom the server lets read it: requests with secrets in
// them belong on a server of one's own, or one with TLS.
//
// NATS keeps no messages here (no JetStream): a run is over in minutes, and its
// parts notice each other's silence.
package bus
