// Package browse reads what lies in the process queues of a node and beside them (BROWSE, paper
// §2.5): messages of entries and instances, process tables, messages that wait for a table, and
// refused ones. It takes nothing away.
//
// What it guarantees:
//
//   - What it gives is whole: an entry has all its messages, with their bodies, or there is an
//     error. Where a body goes while its record is read, it reads again.
//   - What cannot be read is told to the store's owner before the caller gets the error
//     (invariant 8).
package browse
