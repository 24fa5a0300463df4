// Package push is a hub for events: publishers send them to topics, and subscribers, which
// are HTTP requests, receive those of the topics that they name.
package push
