// Package commit is the committer as a pure machine: which transactions make the next commit,
// which are refused, what of links and tables is so from then on, and what is to be told to whom
// in which order. It is told what happened (Event) and says what is to be done (Effect); package
// queue reads, writes and tells.
//
// What it guarantees, where whoever drives it tells events in the order in which they happened:
//
//   - Transactions happen strictly in the order in which they were submitted. Those that wait
//     are joined into one commit; a group may be split, a transaction never (S2).
//   - Nothing is told before it is on disk: effects of a group come in a Report after its
//     Written, and none of them after a write that failed.
//   - What the engine would refuse, for its size, is refused here, in its turn and with nothing of it
//     on disk: a write does not fail for what it is.
//   - The same events give the same effects, to the byte (invariant 13).
//
// One group is under way at a time. Where something has to be read for it (which chunks a
// record has staged that goes; whether a refused message is still there, and who is
// charged with it; which audit records are to have the numbers of what is moved) the group stands
// still until the answer is there, and goes on where it stood. What it read is as it was before
// the group, and what the group itself changes is looked up before. Removing a record that
// has no staged body, as nearly all have none, reads nothing (Bodies). Which parts of a large
// message are stored is kept in memory (State.Incoming): there is one such message in a lane.
//
// All that a transaction rests on is looked at here, in its turn, and nothing of it by who
// submits: he would wait for the disk, and what he read might be old when the group is made.
//
// # Why a transaction is never decided on less than there was
//
// A transaction names the entries that it was decided on, and must be refused as stale where its
// owner did not know something (invariant 3). There are two things that he may not know.
//
// A newcomer. Each message put for an entry gets a number when the transaction that puts it is
// added to a group, and the entry's mark keeps the newest. From that moment on, before the message
// is on disk or anybody has seen it, whatever is looked at and was decided on the entry is
// stale. The mark goes when the reader says that he has taken the entry up to that number, and no
// earlier. So let T say that he has taken up to n, and S be a transaction that he decides then:
//
//   - S is submitted after T, and events are handled in order: S finds the mark gone. It is not
//     refused for what its owner knows.
//   - What was submitted before T was decided without n. It stands before T in the order, also where
//     it has to wait because a group is full: T is not handled before it. It finds the mark and is
//     refused. Were T handled when it comes, a transaction that waits would slip through.
//   - A reader may take n at the moment at which n+1 is being written for the same entry. T says n,
//     the mark n+1: it stays, since only what was taken is forgotten. S is refused, as it must be;
//     n+1 is delivered before its owner is told, or soon after, and he decides once more.
//
// Therefore nothing has to be held back in a mailbox while a transaction of the entry is under
// way: what is taken in between stands behind that transaction in the order.
//
// A consumption. A transaction that takes messages of an entry leaves the number of its commit
// with the entry. Each transaction carries the number of the last commit at the time at which it
// was submitted: what that and those before it did, its owner may know, and of the others he cannot.
// It is stale if the entry was consumed by a later commit than that. Between the
// write and its Report others are submitted: those that come before Written carry the older
// number. The mark goes when no transaction waits that carries a number below it. Who submits after
// Written and before he is told counts as knowing. That is enough, because only the reader of a queue
// consumes of it, and he has one transaction of an entry under way at a time.
//
// A queue without a reader has nobody who takes. Its marks go when the messages are on disk: who
// reads it first begins with what lies in the store. He says Opened before he reads, and what is
// reported after that is delivered to him; so he misses nothing, and sees some twice.
package commit
