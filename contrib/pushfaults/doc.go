// Package pushfaults has hostile clients at hubs, and says what others notice of it. Three processes take part,
// so that the memory of the service is its own:
//
//	test     honest clients, each of which has to get every event of its topic
//	service  a hub on one of three hosts, which publishes when it is told to
//	attacker the clients of one attack, with the lowest priority
package pushfaults
