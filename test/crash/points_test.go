package crash

// others are the points outside of commits.
var others = []row{
	{
		point: "commit.staged/stage", victim: "A", scenario: large,
		when: "bodies are on disk as chunks, the transaction that names them is not",
		next: "The chunks that nothing names are swept at open. The client repeats the start, which stages them again.",
	},
	{
		point: "thread.decided", victim: "A", scenario: finishes,
		when: "a transaction is decided and not submitted",
		next: "Nothing was written: it is decided again from the same messages, or by the client's repeated request.",
	},
	{
		point: "thread.decided:2", victim: "B", scenario: finishes,
		when: "the same, later in an instance's life",
		next: "The entry is folded again from its messages and decides the same.",
	},
	{
		point: "thread.taken", victim: "A", scenario: finishes,
		when: "newcomers were taken out of the mailbox and are in no entry",
		next: "The mailbox is memory; the messages are in the queue, and the browse finds them.",
	},
	{
		point: "thread.taken:2", victim: "B", scenario: finishes,
		when: "the same, of what a link brought",
		next: "The messages were accepted and acknowledged: they are in the queue, and the browse finds them.",
	},
	{
		point: "program.begin", victim: "A", scenario: finishes,
		when: "an attempt was decided, its program has not begun",
		next: "The activity is decided again and its program runs, for the first time, under the same key.",
	},
	{
		point: "program.ended", victim: "A", scenario: finishes,
		when: "a program has ended, its result is only in memory",
		next: "The result is lost. The program runs again under the same key (invariant 9), as its own attempt 1.",
	},
	{
		point: "program.ended:2", victim: "B", scenario: finishes,
		when: "the same, in a second iteration",
		next: "The second iteration runs again; the first, whose snapshot is on disk, does not.",
	},
	{
		point: "link.sent", victim: "A", scenario: finishes,
		when: "messages were given to the connection",
		next: "They are still in the transmission queue. The next hello says whether they arrived; what did not is sent again.",
	},
	{
		point: "link.received", victim: "B", scenario: finishes,
		when: "messages have come and are not given to the store",
		next: "The peer was told of nothing and sends them again.",
	},
	{
		point: "link.accepted", victim: "B", scenario: finishes,
		when: "messages are on disk, the acknowledgement has not left",
		next: "The next hello carries number and hash: the peer trims and sends none of them again.",
	},
	{
		point: "link.accepted:2", victim: "A", scenario: finishes,
		when: "the same, of what came back",
		next: "The browse finds the messages; the peer hears of them with the next hello.",
	},
	{
		point: "link.acknowledged", victim: "B", scenario: finishes,
		when: "the acknowledgement was given to the connection",
		next: "Whether it arrived does not matter: the next hello says the same.",
	},
	{
		point: "link.confirmed", victim: "A", scenario: finishes,
		when: "the acknowledgement has come, the trim is not requested",
		next: "The items are still in the transmission queue and are trimmed after the next hello. The peer gets none of them again.",
	},
	{
		point: "commit.written/termination", then: "thread.browsed", victim: "A", scenario: finishes,
		when: "a termination is on disk, and a second kill comes while the queue is browsed at open",
		next: "Recovery has written nothing that it would not write in any order: the third start browses again.",
	},
	{
		point: "link.accepted", then: "thread.taken", victim: "B", scenario: finishes,
		when: "messages are accepted, and a second kill comes with the first newcomers after open",
		next: "The third start finds everything in the queue.",
	},
	{
		point: "large.piece", victim: "A", scenario: wide,
		when: "of a transaction that the engine cannot take at once some pieces are on disk, and no head that names them",
		next: "It has not happened: the pieces are swept at open, and the activity is decided again.",
	},
	{
		point: "large.head", victim: "A", scenario: wide,
		when: "its head is on disk: it has happened, and none of its changes is made",
		next: "All changes are made at open, before anything is read.",
	},
	{
		point: "large.change", victim: "A", scenario: wide,
		when: "some of its changes are made",
		next: "All of them are made at open, those that are there once more, which changes nothing.",
	},
	{
		point: "large.end", victim: "A", scenario: wide,
		when: "its changes are made, head and pieces are gone, nobody knows",
		next: "As behind any commit: the browse finds what was put.",
	},
	{
		point: "large.piece", then: "large.sweep", victim: "A", scenario: wide,
		when: "its pieces are swept at open, and a second kill comes",
		next: "The third start has nothing to sweep, and decides again.",
	},
	{
		point: "large.head", then: "large.change", victim: "A", scenario: wide,
		when: "its changes are made at open, and a second kill comes",
		next: "The head is still there: the third start makes all of them.",
	},
	{
		point: "commit.staged/stage", then: "open.swept", victim: "A", scenario: large,
		when: "chunks that nothing names are swept at open, and a second kill comes",
		next: "The third start sweeps the rest. No chunk is left that nothing names.",
	},
	{
		point: "open.creating", victim: "A", scenario: finishes,
		when: "a new store has its files, and no record",
		next: "It is still a new one, and is made at the next start.",
	},
	{
		point: "open.created", victim: "B", scenario: finishes,
		when: "a new store has its name and its incarnation, and has met nobody",
		next: "It keeps them (L1).",
	},
	{
		point: "side.before", victim: "A", scenario: finishes,
		when: "commits are on disk, the side file behind them has an older number",
		next: "The logs have at least what the side file says: the store opens, with all of it.",
	},
	{
		point: "side.written", victim: "B", scenario: finishes,
		when: "the side file has the number of the last commit",
		next: "The logs reach that number, or nothing is opened (S1).",
	},
	{
		point: "program.ended", then: "store.copied", victim: "A", scenario: finishes,
		when: "after an unclean stop the logs are copied, and a second kill comes before a copy takes a log's place",
		next: "The copy is removed, and made again: the log is as it was.",
	},
	{
		point: "program.ended", then: "store.renewed", victim: "A", scenario: finishes,
		when: "the same, when some copies have taken their places",
		next: "A copy has what the log had: it is read, and copied, again.",
	},
	{
		point: "program.ended", then: "store.opened", victim: "B", scenario: finishes,
		when: "the same, when the engine has opened what was copied",
		next: "What it has written is read with the rest.",
	},
	{
		point: "program.noted", victim: "A", scenario: finishes,
		when: "an attempt is noted in the ledger, which is not synced, and not begun",
		next: "Nothing runs under its key. It counts as one that was running, and runs, under the same key (P2).",
	},
	{
		point: "program.started", victim: "B", scenario: finishes,
		when: "a program runs, and its process is not noted",
		next: "It is found by the key in its environment, killed and seen gone before it runs again.",
	},
	{
		point: "program.runs", victim: "A", scenario: finishes,
		when: "a program runs, and its process is noted",
		next: "What still runs of its group is killed and seen gone before it runs again.",
	},
	{
		point: "program.over", victim: "B", scenario: finishes,
		when: "a program has ended, and the ledger says that it runs",
		next: "Nothing of it is found. It runs again, under the same key.",
	},
	{
		point: "program.ended", then: "ledger.written", victim: "B", scenario: finishes,
		when: "at open the new ledger is written, the old one is in its place",
		next: "The old one is read once more: the stop counts as unclean once, not twice.",
	},
	{
		point: "program.ended", then: "ledger.replaced", victim: "A", scenario: finishes,
		when: "the new ledger has taken its place, and nothing was started",
		next: "It holds what may still run. A start that has started nothing is no unclean stop (P2).",
	},
	{
		point: "store.closing", victim: "A", scenario: stopped,
		when: "the node is stopping: its queues are closed, the engine is not",
		next: "As after any crash: the logs are read. Nothing is assumed of a stop.",
	},
	{
		point: "store.closed", victim: "B", scenario: stopped,
		when: "the engine is closed, and has left no logs; the ledger is not emptied",
		next: "The tables are read. The stop counts as unclean for what the ledger says was running: nothing.",
	},
	{
		point: "ledger.closing", victim: "B", scenario: stopped,
		when: "the store is closed, the ledger is about to be removed",
		next: "The same.",
	},
	{
		command: "restore.part", victim: "B", scenario: restored,
		when: "`fmqmd restore` has put some of a backup's records into the new store",
		next: "The store has no format yet, which is written last: the daemon refuses it and says so, another restore as well. Into an empty directory it is made again.",
	},
	{
		command: "restore.written", victim: "B", scenario: restored,
		when: "`fmqmd restore` has written everything, and has not closed the store",
		next: "It is a whole store, with an incarnation of its own. Its peers stop their links until an operator has compared (L1).",
	},
}
