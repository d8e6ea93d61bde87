// Package events is what a node does with events from outside, and about those that it keeps (N24): it takes
// what is sent here or passes it on, lists and drops what is kept, and judges what peers send.
//
// What it guarantees:
//
//   - An event that was answered for is on disk. Who repeats it with the same identifier, name and key changes
//     nothing, while it is kept and as long again once it was taken.
//   - What no process of this node receives is refused, and so are data of another shape.
//   - Beyond the limit nothing more is taken from outside, and what peers send waits at their sites.
//
// A peer can say what it wants of an event but who has sent it: its token is made of the peer's own name, so no
// peer can speak as another, nor take the place of what was sent from outside.
//
//	events.go  what it uses of the node, and how many events are kept
//	send.go    an event is sent from outside
//	list.go    what is kept, and which receives wait
//	judge.go   what a peer sends
package events
