// Package lane is what a store has of the lanes to and from its peers: the transmission queues,
// what was accepted, the parts of messages that have not come whole, what waits apart until its
// peer reads it, and with which store of a peer each conversation is (L1).
//
// What it guarantees:
//
//   - What [Lanes] says is on disk. It never shows a number that a crash could take back, so who
//     acknowledges a message because of Accepted acknowledges what is kept (invariant 5).
//   - An item stays in its [Transmission] until it is trimmed, and is read in order and without a
//     gap, also while others trim. One that is missing is damage, and no shorter list.
//   - Lanes that began anew, a peer that is met, a peer that has another store: each is one
//     transaction, and none is guessed. What contradicts what is on disk is refused.
//   - What the peer does not read yet has no number and waits apart (N17). Once the peer says that it reads
//     it, transactions of the lanes' own move it.
//
// It decides nothing of a transaction: which number an item gets, whether an Accept continues what
// is there, and what is to be moved next is said by package commit, in its turn.
//
// Who calls: anybody may call Lanes and Transmission, from any task. [Keeper] is the manager's: Load before
// the committer begins, then Publish and Report from the committer's task, in that order for each of its
// reports. Reading costs the committer nothing; a move is made beside it, in the background.
package lane
