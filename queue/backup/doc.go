// Package backup writes a store as a stream, verifies such a stream, and fills a new store from one.
//
// What it guarantees:
//
//   - A backup is of one commit, whatever is committed while it is written. What is not whole,
//     or was changed, is refused before it counts for anything.
//   - A restored store is a new one to its peers (L1): it has a new incarnation, nothing of
//     theirs counts as accepted, and what the copy had accepted is noted apart (S4).
//   - A restore that was cut off leaves a store that nobody opens: its format is written last.
package backup
