// Package event is the behaviour of a node's event queue (N24), beside FlowMark's in package navigator. An
// entry of that queue is where events of one name, shape and key meet the receives of this node that wait for
// such: each event goes to one receive.
//
//	KindEvent  an event is kept here
//	KindWait   a receive waits
//	KindPast   an event that no receive takes any more: it was taken, and a repeat of it is none; or it was too old
//	KindOver   a receive waits no more, or an operator drops an event
//	KindDue    an event is too old, or what is remembered of one
//
// An entry is of no instance, and never ends: it is there while it has messages. Nothing of it is in the
// audit: what has come of an event is a line in the history of who sent it and of the receive.
//
// The package is pure: no I/O, clock, goroutine or log. A [Queue] is immutable and safe for concurrent use; a
// State belongs to its process thread.
//
// # The rules of the event queue
//
//	E1  An entry's state is a function of the set of its messages: any order, and any repeat, gives the
//	    same state. (invariant 2)
//	E2  The event that came first goes to the receive that has waited longest: by arrival number. An event that
//	    was put back has its old number. (N11, N24)
//	E3  One transaction takes the event and the wait, and puts the event into the entry of the receive. So each
//	    event goes to one receive, and a receive is given one event of each entry in which it waits.
//	E4  An event that this very node has not sent by itself is remembered as long as it would have been kept, from when
//	    it was taken: another one with its token is let go. An entry remembers 10,000, and forgets the earliest beyond that.
//	E5  What is put back was taken before: it is not remembered any more.
//	E6  A wait goes with what says that its receive is over. Where only that is there, the wait was taken.
//	E7  An event whose time has come is set aside: no receive takes it, and it is there as long again, or
//	    until an operator drops it. No clock is asked: the message of its timer says so. (N13)
package event
