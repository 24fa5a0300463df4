// Package pushtest tests what is built around package push: any way to mount its handler on
// a server ([Handler]), brokers ([Broker]) and registries ([Registry]). A [Stream] reads what
// a hub sends, in each of its formats.
package pushtest
