// Package behaviour is the contract between a process thread and what its messages mean
// (design §4): Fold says what is known, Decide what should be, Conclude what follows from a
// program's end, Command from a word about the entry, View what others may see. The FlowMark
// activity (package navigator) is the first behaviour behind it; others run on the same tables,
// queues and transactions, and inherit their guarantees.
//
// Effects are data: messages to put, a program to invoke, a timer, the entry's end. The process
// thread makes them happen, all durable ones in one transaction.
//
// It is pure: no I/O, clock, goroutine or log.
package behaviour
