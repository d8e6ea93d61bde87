// Package instancetable is the instance table of one process queue (paper §3.3): what
// a node knows, in memory, of activities under way. Nothing in it is stable: an entry
// is the fold of its messages, which stay in the queue, so any entry that is not in
// execution may be evicted and is read back when something arrives for it.
//
// What it guarantees:
//
//   - Memory follows the activities in execution plus a bounded cache (invariant 10):
//     pinned entries are never evicted, all others only within the limits.
//   - MayBeStored never says no for an entry that has messages in the store and was
//     evicted, so a new activity needs no read of the store (it may say yes for one that
//     has none, at the cost of a read).
//
// A Table belongs to its process thread; nothing in it is safe for concurrent use.
package instancetable
