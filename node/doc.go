// Package node is a site's tasks: the node manager, the process thread of each process
// queue, the activity threads that run programs, and the answers to people and to peers
// (paper §3.2, §3.3). All of them run on the Scheduler that the node is opened with: a
// daemon's goroutines, or one site of a simulated world.
//
//	thread/               the process thread as a machine: events in, effects out
//	processthread.go      its shell: one task for each process queue; asked.go reads for it
//	activitythread.go     programs run: one task for each
//	slots.go              how many activity threads may run a program at once
//	node.go, tables.go    the node manager: store, tables, threads, links
//	lifecycle.go          the stop, and what undoes a start that fails
//	inbox.go              what a link brings: judged, then put
//	gather.go             questions to peers, and their answers (never persistent)
//	report.go, inspect.go what this node tells of an instance: a view of the store, beside the threads
//	gathering.go, cut.go  the reports of all nodes, put together so that they fit
//	status.go ...         the answers of the API
//	health.go, metrics.go whether it lives, and what it has counted
//
// What it guarantees:
//
//   - Restart is open the store and browse (invariant 2): there is no other recovery.
//   - Each entry has one owner, its process thread; each durable change of it is one
//     transaction, refused if a message came that the thread had not folded.
//   - No task waits for a connector, a pause or a free program: an activity thread
//     exists only while its program runs, and no more than the program's concurrency.
//   - Stop lets programs that run finish for a while, then ends them; nothing that was
//     not committed is assumed. A failed disk ends the node with an error.
//   - A node runs only registered programs, and takes messages only from peers that it
//     knows, for connectors of its tables (invariant 11).
package node
