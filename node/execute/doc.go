// Package execute runs what process threads decide (paper §3.2, §3.3): a task for each process queue
// around the machine of package thread, and one for each program that runs.
//
//	slots.go      how many activity threads may run a program at once
//	meters.go     what is counted
//	said.go       what a program has said last
//	running.go    what a process thread publishes of the programs that run
//	execution.go  what all threads of a site have in common, and what they use of the node
//	thread.go     a process thread: what it is told, and who waits for its answers
//	read.go       what its machine wants to be read
//	stack.go      the stack of an activity thread
//	activity.go   activity threads: programs, and conditions that may take long
//	child.go      what is to be found before an instance of another process begins for an activity
//	turn.go       a turn of a process thread: its machine's events, then its effects
//
// Each file stands on those above it only.
//
// # What it guarantees
//
//   - A machine is stepped by its thread's task only, which answers nobody who only asks: what runs is
//     published ([Thread.Attempts], [Thread.Stats]), and all else is in the store.
//   - The effects of a turn are done in the machine's order, at the end of the turn. A program begins
//     after what led to it is on disk, and what came of it is told to its machine once.
//   - What has ended is shown no more before its thread can begin what comes next: the committer's
//     task takes it out, and posts to the thread then.
//   - No task waits for a connector, a retry's pause or a free program: an activity thread exists only
//     while its program runs, or is started again and again on a machine that is short of what it
//     needs, and there are no more of them than the program's concurrency.
//   - An attempt that ends after Options.Running has ended never happened: a restart runs it again,
//     under the same key (P1).
//   - Conditions that may take long hold up no process thread.
package execute
