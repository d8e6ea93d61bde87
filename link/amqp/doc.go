// Package amqp carries the frames of links through a RabbitMQ (AMQP 0-9-1), which may
// lose, repeat, reorder and forget: the broker carries, and is trusted with nothing
// (invariant 5). What matters is in the nodes' stores.
//
// A daemon has one [Broker]. It receives from one durable queue of its own, fmqm.NODE,
// of which it is the only consumer, and sends to the queues of its peers through the
// default exchange. [Broker.Dialer] gives a link.Dialer for a peer; both ends dial. The
// connections that it makes are virtual: a session of link/seal with the peer, beside
// which there is only what the peer was heard to say. They end when the peer was not
// heard for [Silence] though it was asked, by its own word, and with either of the two connections to the broker.
//
// What it guarantees:
//
//   - One connection to the broker publishes, another consumes; each is made again by
//     itself, with a growing pause. Every call has a deadline that closes the socket, so
//     nothing hangs, neither under an alarm nor at a broker that is frozen.
//   - A delivery is acknowledged as soon as it was looked at, before anything of it is on
//     disk: the sender's store keeps it until the link's own acknowledgement, and after a
//     crash it would be of an earlier life of this daemon anyway.
//   - Messages stay below 1 MiB: larger frames travel in parts, and a lost part loses
//     its frame. What the broker has not confirmed is bounded for each peer, and so is
//     what was received and not yet taken; a peer that takes nothing slows no other.
//   - What is sent to a peer expires at the broker, after [Silence] where it only asks
//     who is there: nothing piles up for a peer that is away.
//   - Of a name that nobody asked for nothing is kept before it has proved who it is, but
//     for a handshake, of which there are few at a time.
//   - What is wrong is said in plain words and with a remedy, in [Broker.Status], in the
//     errors of Dial and of the connections, and by [Probe]; the log has changes of
//     state only. A password is never shown.
package amqp
