// Package identity is who a node is to its peers and to operators: certificates of a
// small authority of the sites' own, and the TLS and signatures made with them.
//
// A certificate names one node, one operator or one person in a URI, fmqm://node/NAME,
// fmqm://operator/NAME or fmqm://person/NAME; or a server that is neither, fmqm://server/HOST, such as a broker. A certificate of another maker that has no such URI is a node's,
// with its common name, if it is for both ends of TLS; operators and people always need the URI.
// Host names play no part between nodes: who answers at an address has to be the node
// that was called, wherever it is.
//
// What it guarantees:
//
//   - Nobody is believed whose certificate is not of the configured authorities, not
//     valid now, or of another role (invariant 11). The error says which of these, for
//     people: whose certificate, what is wrong with it, what to do.
//   - Keys are Ed25519, TLS is 1.3, both ends show certificates.
//   - [Identity.Reload] takes up files that were renewed, all of them or none. Who is
//     watched ([Identity.Watch]) is judged again by them, and when a certificate ends.
//   - Files of keys are made so that only their owner reads them, and nothing is
//     overwritten unless that was asked for.
//
// An Identity is safe for concurrent use. The clock is the machine's, given by who
// loads it: certificates end, and a node with a wrong clock believes nobody; that costs
// time, never a message.
package identity
