// Package link carries a transmission queue to its peer, exactly once and in order
// in each lane, over transports that may lose, repeat, reorder and cut (rules L1 to
// L6).
//
// Package link/core is the protocol: it takes events and gives effects, without goroutines,
// clock or I/O. [Link] is the thin shell around it: a task, the transmission queue, a
// transport. Package link/frame has what goes over the wire.
//
// What it guarantees:
//
//   - The sender keeps a message until the peer's store has it; it trims only at a
//     number where the peer's running hash is its own.
//   - The receiver accepts exactly last+1 in each lane, in the transaction that puts
//     the message; what was seen is dropped, a gap is asked for again, a damaged frame
//     is as good as lost.
//   - What two stores disagree about (a number below the lowest kept, another hash, a
//     new incarnation under a known name) stops the link both ways with a reason that
//     says what to do; nothing is guessed.
//   - A peer that is down costs a dial attempt now and then, with a growing pause, and
//     one log line when its state changes.
//   - A peer is dialed over each of its routes ([Route], L3). The best one that answers is
//     used, the others are ready, and take over without the conversation ending.
//   - A way that rests is dialed soon when the peer is heard, on another way or by a
//     [Listener]; a link that is connected says what hinders it ([Delivery]).
//   - A link with nothing to carry sends nothing: whether the peer is there is for the
//     transport to find out.
//   - What the peer cannot read waits, and the link says what to upgrade (L6).
//   - A stopped link waits for an operator's [Decision]; what is still wrong is found again
//     by the next hello, also after a restart, before anything is accepted.
//   - Queries and their replies ride beside the messages and are not persistent: they
//     are lost with the connection, and the asker's time-out is the remedy.
//
// A daemon has one Link for each peer. It dials if it has a route; an [Acceptor] gives
// it the connections that the peer opens. If both dial directly, one connection stays.
//
// link/https is the direct transport.
package link
