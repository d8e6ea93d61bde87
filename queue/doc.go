// Package queue is the recoverable queue manager of a node (paper §2.5): process
// queues, transmission queues, timers and the audit queue, in one store with one
// committer.
//
// A [record.Tx] is all that happens at once: messages removed and put, over any number of
// queues, audit records, a link's accepted number. The committer joins the
// transactions that arrive while a write is under way into one durable write (group
// commit); a group may be split, a transaction never (S2).
//
// What it guarantees:
//
//   - All of a Tx or none (invariant 3). Done is called exactly once, after it is on
//     disk or refused; by then its messages are in their mailboxes, and every reading
//     method shows it. Transactions happen in the order in which they were submitted.
//   - A Tx names the entries that it was decided on. If a message for one of them was
//     put that its owner has not taken yet, the Tx is refused with [commit.ErrStale] and
//     nothing of it happens: the owner folds the newcomer and decides again. So is the
//     second of two that take messages of one entry, if it was submitted before the
//     first was on disk. Package commit has the argument.
//   - A message put for a queue of this node is handed to that queue's [mailbox.Reader] in
//     memory once it is durable; nothing is polled and no reader is waited for. Browse
//     sees it no later than the mailbox does.
//   - A timer whose time has come becomes a message of its entry, in one transaction, once (N13).
//     Who decides asks no clock.
//   - Each message of a process queue has the number of its arrival there (N11), which outlives
//     everything that is in memory, and a restore.
//   - A message for another node gets the next number of its lane and the running hash
//     over all before it (L1), and stays in the transmission queue until trimmed.
//     What the peer has not said that it reads waits apart, without a number, until it
//     says so, and holds up nothing but what is for the same entry (N17).
//   - Every record carries its version and a checksum; one that does not match is an
//     error that names the record, never a wrong value.
//   - Bodies over 32 KiB are staged as chunks before the transaction that names them
//     (S2), so that no transaction outgrows the engine.
//
// The rooms: queue/record has the layout of the store, queue/prepare makes a transaction ready,
// queue/commit says what is done with it; these are pure. queue/lane has the lanes to and from
// peers, queue/mailbox what process queues hand to their readers, queue/timer what becomes of timers. queue/read, queue/audit, queue/browse and queue/backup read. Here are the manager that
// opens and closes them all, and the committer's task, which carries out what queue/commit says.
//
// Keys sort so that everything of one (queue, instance, scope, activity) lies
// together, and history lies apart from what is scanned at open; queue/record has the
// layout. The manager runs, waits and tells the time by its task.Scheduler.
package queue
