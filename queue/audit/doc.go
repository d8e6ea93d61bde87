// Package audit reads the audit queue of a node (paper §2.5): what has happened to an instance and
// its activities, which instances there are, how much they take, and what of them retention may
// remove.
//
// What it guarantees:
//
//   - A record that ended something is found by its key alone, as long as it is there, and what
//     is left of its instance after that: who ended is known for ever (N2, N7). That nothing has ended
//     of an instance that is new is known without a read (ends.go).
//   - An instance is shown as it was at one commit (ViewInstance).
//   - Lists have the newest start first and go on where they stopped, whatever happened between.
//   - Lists of what runs cost what they give, however much has ended: the places of what runs are in memory as well
//     (running.go), some 30 bytes of each, and until they are read, beside the first commits, lists read the store.
//   - A search gives what reading the starts of all instances would give, in the order of a list, and ends early rather than cost
//     more than it may: it says how far it has looked (search.go).
//   - What cannot be read is told to the store's owner before the caller gets the error (invariant 8).
//   - It changes nothing: what removes records is a transaction that its caller submits (Forget).
package audit
