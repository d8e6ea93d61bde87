// Package behaviour is what a process thread, and all that answers people, know of what an
// activity's messages mean (design §4): its effects, and a view of its state. The FlowMark
// activity (package navigator) is the first behaviour behind it; others run on the same
// queues and transactions, and inherit their guarantees.
//
// It is pure: no I/O, clock, goroutine or log.
package behaviour
