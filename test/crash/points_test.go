package crash

// others are the points outside of commits.
var others = []row{
	{
		point: "commit.staged/stage", victim: "A", scenario: large,
		when: "bodies are on disk as chunks, and the transaction that names them is not",
		next: "Chunks that nothing names are removed at open. The client repeats the start, which writes them again.",
	},
	{
		point: "thread.decided", victim: "A", scenario: finishes,
		when: "a transaction is decided and not submitted",
		next: "Nothing was written. The same is decided again from the same messages, or when the client repeats its request.",
	},
	{
		point: "thread.decided:2", victim: "B", scenario: finishes,
		when: "the same, later in an instance's life",
		next: "The entry is folded again from its messages and decides the same.",
	},
	{
		point: "thread.taken", victim: "A", scenario: finishes,
		when: "new messages were taken out of the mailbox, and are in no entry yet",
		next: "The mailbox is in memory only. The messages are in the queue, and the node finds them when it browses.",
	},
	{
		point: "thread.taken:2", victim: "B", scenario: finishes,
		when: "the same, for messages from a link",
		next: "The messages were accepted and acknowledged. They are in the queue, and the node finds them when it browses.",
	},
	{
		point: "program.begin", victim: "A", scenario: finishes,
		when: "an attempt was decided, and its program has not begun",
		next: "The activity is decided again. Its program runs for the first time, under the same key.",
	},
	{
		point: "program.ended", victim: "A", scenario: finishes,
		when: "a program has ended, and its result is only in memory",
		next: "The result is lost. The program runs again under the same key (invariant 9), as its own attempt 1.",
	},
	{
		point: "program.ended:2", victim: "B", scenario: finishes,
		when: "the same, in a second iteration",
		next: "The second iteration runs again. The first one does not, because its snapshot is on disk.",
	},
	{
		point: "link.sent", victim: "A", scenario: finishes,
		when: "messages were given to the connection",
		next: "They are still in the transmission queue. The next hello says which arrived, and the others are sent again.",
	},
	{
		point: "link.received", victim: "B", scenario: finishes,
		when: "messages have come, and are not given to the store yet",
		next: "The peer got no acknowledgement, and sends them again.",
	},
	{
		point: "link.accepted", victim: "B", scenario: finishes,
		when: "messages are on disk, and the acknowledgement is not sent yet",
		next: "The next hello has number and hash. The peer trims its queue, and sends none of them again.",
	},
	{
		point: "link.accepted:2", victim: "A", scenario: finishes,
		when: "the same, for what came back",
		next: "The node finds the messages when it browses. The next hello tells the peer.",
	},
	{
		point: "link.acknowledged", victim: "B", scenario: finishes,
		when: "the acknowledgement was given to the connection",
		next: "Whether it arrived does not matter: the next hello says the same.",
	},
	{
		point: "link.confirmed", victim: "A", scenario: finishes,
		when: "the acknowledgement has come, and the trim is not requested yet",
		next: "The messages are still in the transmission queue, and are trimmed after the next hello. The peer gets none of them again.",
	},
	{
		point: "commit.written/termination", then: "thread.browsed", victim: "A", scenario: finishes,
		when: "a termination is on disk, and a second kill comes while the queue is browsed at open",
		next: "Recovery writes only what it may write in any order. The third start browses again.",
	},
	{
		point: "link.accepted", then: "thread.taken", victim: "B", scenario: finishes,
		when: "messages are accepted, and a second kill comes with the first new messages after open",
		next: "The third start finds everything in the queue.",
	},
	{
		point: "large.piece", victim: "A", scenario: wide,
		when: "some pieces of a transaction that is too large for one commit of the engine are on disk, and no head that names them",
		next: "The transaction has not happened. The pieces are removed at open, and the activity is decided again.",
	},
	{
		point: "large.head", victim: "A", scenario: wide,
		when: "its head is on disk, so it has happened, and none of its changes is made yet",
		next: "All changes are made at open, before anything is read.",
	},
	{
		point: "large.change", victim: "A", scenario: wide,
		when: "some of its changes are made",
		next: "All of them are made at open. Those that were made before are made again, which changes nothing.",
	},
	{
		point: "large.end", victim: "A", scenario: wide,
		when: "its changes are made, head and pieces are removed, and nobody in the node knows of it",
		next: "As after any commit: the node finds what was put when it browses.",
	},
	{
		point: "large.piece", then: "large.sweep", victim: "A", scenario: wide,
		when: "its pieces are removed at open, and a second kill comes",
		next: "The third start has nothing to remove, and decides again.",
	},
	{
		point: "large.head", then: "large.change", victim: "A", scenario: wide,
		when: "its changes are made at open, and a second kill comes",
		next: "The head is still there, and the third start makes all of them.",
	},
	{
		point: "commit.staged/stage", then: "open.swept", victim: "A", scenario: large,
		when: "chunks that nothing names are removed at open, and a second kill comes",
		next: "The third start removes the rest. No chunk is left that nothing names.",
	},
	{
		point: "open.creating", victim: "A", scenario: finishes,
		when: "a new store has its files, and no record",
		next: "It is still new, and the next start makes it.",
	},
	{
		point: "open.created", victim: "B", scenario: finishes,
		when: "a new store has its name and its incarnation, and has met nobody",
		next: "It keeps them (L1).",
	},
	{
		point: "migrate.begun", victim: "A", scenario: earlier,
		when: "a store of an earlier format has the number of the next one, and how far the step to it is: nowhere",
		next: "A program that does not know the format refuses the store. The step begins at its next start.",
	},
	{
		point: "migrate.begun", then: "migrate.end", victim: "A", scenario: earlier,
		when: "the same, and a second kill comes when the step that was taken up is done",
		next: "Nothing is left to do at the third start. Nothing but the step has read the store before.",
	},
	{
		point: "migrate.end", victim: "B", scenario: earlier,
		when: "all records are brought to the next format, and nothing says any more how far the step is",
		next: "The store is of that format.",
	},
	{
		point: "side.before", victim: "A", scenario: finishes,
		when: "commits are on disk, and the side file still has an older number",
		next: "The logs have at least what the side file says, so the store opens with all of it.",
	},
	{
		point: "side.written", victim: "B", scenario: finishes,
		when: "the side file has the number of the last commit",
		next: "The logs reach that number, or the store is not opened (S1).",
	},
	{
		point: "program.ended", then: "store.copied", victim: "A", scenario: finishes,
		when: "after an unclean stop the logs are copied, and a second kill comes before a copy takes a log's place",
		next: "The log is as it was. The copy is removed, and made again.",
	},
	{
		point: "program.ended", then: "store.renewed", victim: "A", scenario: finishes,
		when: "the same, when some copies have taken their places",
		next: "A copy has what the log had. It is read and copied again.",
	},
	{
		point: "program.ended", then: "store.opened", victim: "B", scenario: finishes,
		when: "the same, when the engine has opened what was copied",
		next: "What it has written is read with the rest.",
	},
	{
		point: "program.noted", victim: "A", scenario: finishes,
		when: "an attempt is noted in the ledger, which is not synced, and has not begun",
		next: "Nothing runs under its key. The attempt counts as one that was running, and runs again under the same key (P2).",
	},
	{
		point: "program.started", victim: "B", scenario: finishes,
		when: "a program runs, and its process is not noted",
		next: "It is found by the key in its environment. It is killed, and seen to be gone, before it runs again.",
	},
	{
		point: "program.runs", victim: "A", scenario: finishes,
		when: "a program runs, and its process is noted",
		next: "What still runs of its group is killed, and seen to be gone, before it runs again.",
	},
	{
		point: "program.over", victim: "B", scenario: finishes,
		when: "a program has ended, and the ledger says that it runs",
		next: "Nothing of it is found. The program runs again, under the same key.",
	},
	{
		point: "program.ended", then: "ledger.written", victim: "B", scenario: finishes,
		when: "at open the new ledger is written, and the old one is still in its place",
		next: "The old one is read again. The stop counts as unclean once, not twice.",
	},
	{
		point: "program.ended", then: "ledger.replaced", victim: "A", scenario: finishes,
		when: "the new ledger has taken its place, and nothing was started",
		next: "It has what may still run. A start that started no program does not count as an unclean stop (P2).",
	},
	{
		point: "store.closing", victim: "A", scenario: stopped,
		when: "the node is stopping: its queues are closed, and the engine is not",
		next: "As after any crash, the logs are read. Nothing is assumed because of the stop.",
	},
	{
		point: "store.closed", victim: "B", scenario: stopped,
		when: "the engine is closed and has left no logs, and the ledger is not emptied yet",
		next: "The tables are read. The stop counts as unclean, but the ledger has nothing that was running.",
	},
	{
		point: "ledger.closing", victim: "B", scenario: stopped,
		when: "the store is closed, and the ledger is about to be removed",
		next: "The same.",
	},
	{
		command: "restore.part", victim: "B", scenario: restored,
		when: "`fmqmd restore` has put some of a backup's records into the new store",
		next: "The format is written last, so the store has none yet. The daemon and another restore refuse the store and say so. Restore into an empty directory again.",
	},
	{
		command: "restore.written", victim: "B", scenario: restored,
		when: "`fmqmd restore` has written everything, and has not closed the store",
		next: "It is a complete store with a new incarnation. Its peers stop their links until an operator decides (L1).",
	},
}
