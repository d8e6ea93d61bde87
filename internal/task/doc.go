// Package task is how what runs at a site runs, waits and is woken (invariant 13). There
// are two kinds of [Scheduler]:
//
//   - [Goroutines]: a daemon's. Each task is a goroutine; the clock is the machine's.
//   - [Site], of a [World]: a simulation's. One task of the whole world runs at a time, in
//     an order that a seed gives, on an event heap with virtual time. A site can be killed
//     where it stands: none of its tasks goes on.
//
// Code that is to run in both starts tasks, waits, and takes the time through its Scheduler
// only: no go statement, no channel, no select, no context of the standard library's making.
// It holds no lock while it waits.
//
// What it guarantees:
//
//   - A ring of a [Bell] is not lost: it wakes one who waits, or the next who does.
//   - Where several things that a task waits for are there, a world takes the one that is
//     named first; goroutines take any.
//   - The same seed, and the same calls, give the same order of all that happens in a world.
package task
