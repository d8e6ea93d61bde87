// Package node is a site's tasks: the node manager, the process thread of each process
// queue, the activity threads that run programs, links, and the answers to people and to peers
// (paper §3.2, §3.3). All of them run on the Scheduler that the node is opened with: a
// daemon's goroutines, or one site of a simulated world.
//
//	thread/               the process thread as a machine: events in, effects out
//	execute/              its shell: one task for each process queue, one for each program that runs
//	node.go, threads.go   the node manager: store, process threads
//	tables/               which process tables are taken, and how an upload brings them to all sites
//	ways.go               links to peers: which there are, and how a peer is reached
//	site.go, answers.go, commands.go, execution.go  the node as the rooms in it see it
//	lifecycle.go          the stop, and what undoes a start that fails
//	admission/            what a link brings, and what waited for its table: judged, then put
//	answer/               answers people: status, history, why, lists, refused messages, peers
//	report/               what nodes tell of an instance, put together
//	question/             carries questions between nodes
//	respond.go            what peers ask, and who answers it
//	command/              what operators command; words to activities, and their answers
//	rebuild/              sends a peer again what it lost with its store
//	retention/            removes audit records that are beyond the policy
//	trust/                whose tables and whose commands are taken
//	health.go, metrics.go whether it lives, and what it has counted
//
// # Who calls whom, and in which order
//
// Three machines decide, and each has one task that steps it and does its effects in their order: a
// link's (link/core) for each peer, a process thread's (node/thread) for each process queue, and
// the committer's (queue/commit), one for the store. They share no memory. This is the way of a
// message from a peer, through all of them, to the messages that follow from it:
//
//	link       a frame has come                → admission: Inbox.Accept
//	admission  judges each message             → queue.Submit: puts, refused ones, the link's number
//	committer  a group, written and synced     → then, transaction by transaction, as they were submitted:
//	           1. Deliver: a put is in the mailbox of its process thread
//	           2. timers are set
//	           3. Tx.Done, which tells the submitter: here the link, which may now acknowledge
//	           and at last the links are woken that have something new to send
//	thread     takes its mail, folds           → what it has to read is read at once, and answered first
//	           at the end of a turn, in order  → Commit: queue.Submit. Invoke: an activity thread begins
//	activity   the program has ended           → thread.Ended, posted to the process thread
//	thread     decides                         → Commit: the termination, one transaction (invariant 3)
//	committer  written and synced              → deliver, timers, and Tx.Done of the process thread:
//	           1. what runs is shown no more (execute)
//	           2. the thread is told (thread.Committed), and takes it up in its next turn
//	           3. it is counted, observed, and who waits for the instance is woken (answer.Changed)
//	           and the links of the peers for which something was put
//
// So nothing is acknowledged, begun or shown before it is on disk (invariant 8). Done runs in
// the committer's task: it posts, and never waits. A word of an operator goes to the thread as
// an event (execute.Thread), and its answer comes as an effect, after the commit that
// it needs. Who only asks (status, history, why, lists) reads one view of the store, and what
// execute shows: no thread answers him, so he delays none. What asks other nodes runs in
// tasks of its own.
//
// # What it guarantees
//
//   - Restart is open the store and browse (invariant 2): there is no other recovery.
//   - Each entry has one owner, its process thread; each durable change of it is one
//     transaction, refused if a message came that the thread had not folded.
//   - No task waits for a connector, a pause or a free program: an activity thread
//     exists only while its program runs, and no more than the program's concurrency.
//   - Stop lets programs that run finish for a while, then ends them; nothing that was
//     not committed is assumed. A failed disk ends the node with an error. Who asks meanwhile is told
//     that the node stops: not what its store says once it is closed, nor that nothing is known of
//     what its peers, to which it has no links any more, might know.
//   - A node runs only registered programs, and takes messages only from peers that it
//     knows, for connectors of its tables (invariant 11).
package node
