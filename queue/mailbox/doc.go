// Package mailbox hands the messages of process queues to those who read them, in memory: what
// came for each entry since its reader last looked, as soon as it is on disk. Nothing is polled,
// and the committer never waits for a reader.
//
// What it guarantees:
//
//   - Each message that is delivered after a mailbox got its reader is taken once, by entry: those
//     first that have waited longest, and those of one entry in the order in which they came.
//   - The committer is told what was taken, before the reader submits what he decides on it: so it
//     knows what a decision is stale for (package commit has the argument).
//   - What lies in all mailboxes of a store together has a [Load]. Beyond its limit nothing is refused
//     that is on disk already: those who bring more are asked to wait.
//
// Who calls: a [Box] is the manager's. Deliver is called from the committer's task; Again from any. A [Reader] is
// whose queue it is, from any task. Load may be asked by anybody.
package mailbox
