// Package thread is the process thread of one process queue as a machine (paper §3.2, §3.3):
// typed events in, typed effects out. It reads no disk, asks no clock, takes no lock and
// starts nothing; package node has the task around it.
//
// A message's way through the files: arrive.go (it comes), consider.go (it is folded, and
// the activity is asked what should be), places.go and line.go (a program waits for a place, in the order of turns),
// settle.go and cascade.go (what follows becomes a transaction, and the table follows that).
// refuse.go is what cannot take effect, browse.go recovery, instance.go and starts.go what
// concerns an instance as a whole, word.go, operate.go and verdict.go what people say, command.go,
// wish.go and hand.go what their words in the queue want of an activity.
//
// What it guarantees, whenever events come and in whatever order answers do:
//
//   - The same events give the same effects (invariant 13).
//   - Each asynchronous effect has a token. An answer under another one than is awaited
//     changes nothing.
//   - An entry in memory is the fold of its messages in the store and of what was delivered
//     for it. While facts about an entry are read it is not in memory, so nothing is decided of
//     it. What was read counts only if no transaction has taken messages from the entry since it
//     was asked for: else it is read again.
//   - A transaction is decided on exactly the messages that were delivered; what comes for its
//     entries until it has ended is folded afterwards (invariant 3).
//   - What it has seen itself it does not ask: of an instance that was started here since the
//     open nothing is read but what was evicted.
//   - Each word is answered once, unless the store has closed.
//   - Memory follows the activities in execution plus a bounded cache (invariant 10).
//
// The effects of a step are to be done in their order. Load, List, Browse, Ask and Commit may
// be answered at any time after they were given, at once too; a Load that is answered before
// the next event costs nothing else. No event may be given while a step is under way.
package thread
