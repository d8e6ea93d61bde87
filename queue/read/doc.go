// Package read reads what a node's store has: records with their bodies, as they are or as they
// were at one commit, and nothing else. It changes nothing.
//
// What it guarantees:
//
//   - A record that is not what its key says, or whose body is not whole, is an error that
//     names it, and never a wrong value.
//   - Through a Guard every read that fails is told to the owner of the store, whoever asked:
//     what cannot be read counts for nothing (invariant 8).
//   - A body that goes while its record is read gives ErrGone, and Again reads once more.
package read
