// Package attack holds attacks on real daemons. Each test plays somebody who wants in:
//
//   - a stranger, who has a certificate of the right authority and is no site of any process;
//   - a hostile peer, who is a site and sends what a site must not send;
//   - a broker account, somebody who may read, write and delete all queues at the RabbitMQ.
//
// A [world] is sites, each a daemon with the certificate of one authority and TLS on
// loopback. A [party] is the attacker: a name with a certificate of that authority, or of
// another one, and code of the test in place of a daemon. It opens links to the sites,
// directly or over a broker, and puts into them whatever it likes, byte by byte. What is
// asked at the end is asked of the daemons: what they show, what they run, what they say,
// and what is in their stores.
//
// An attack is written so that it succeeds where the door is open: where it fails it has
// to be seen that it came to the door. What each attacker can and cannot do is in
// docs/security.md.
package attack
