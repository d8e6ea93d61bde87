// Package program invokes the programs that a node's configuration registers: a
// process table can only name them (invariant 11).
//
//	exec      a child process: JSON on standard input and output, no shell
//	http      a POST of the same JSON
//	builtin   noop, echo, sleep, fail: no process at all
//
// What it guarantees:
//
//   - Run returns when the program has ended and what is left of its process group is
//     gone; after a failure, so are children that left the group with setsid, which are
//     found by the key in their environment. So a next attempt runs beside nothing of
//     this one (invariant 9).
//   - What outlives a killed daemon is gone before its key runs again: a Ledger notes
//     what was started, without a durable write, and opening it kills what is left (P2).
//     What was running at three unclean stops in a row is not started again.
//   - An http program may overlap with an older attempt, whose request the service still
//     works on: only the service can tell, by the key (P3).
//   - Result.Output is the activity's output container, whole, whenever Result.Err is
//     nil. What a program writes is bounded while it is read.
//   - A child sees a clean environment with the facts of its invocation, never the
//     daemon's.
//   - Cancelling Run's context, and the program's timeout, end the group: SIGTERM, then
//     SIGKILL after a grace.
//
// Beside the ledger it keeps no state: limits on how many run at once are the node's to hold.
package program
