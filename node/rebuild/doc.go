// Package rebuild sends a peer again what it lost with its store (S4, L1): from the audit queue,
// by an operator's word.
//
//	rebuild.go    an operator's word, made durable; how far each rebuild is; what is known of lost stores
//	run.go        one rebuild, from its mark in the store to the end
//	survey.go     what of the audit queue the peer is to have again
//	unsaid.go     what the peer is told now that nobody had to be told before
//	over.go       what waits here of instances that have ended, and will not come any more
//	questions.go  what nodes ask one another about it
//
// What it guarantees:
//
//   - How far a rebuild has come is a record written with its messages: a kill costs nothing.
//   - An order that is on disk is carried out, also where the operator who gave it has gone.
//   - What the peer still knows it folds to the same state, or drops as a repeat (invariant 5).
//   - An instance that was started at the peer is only sent once the peer knows it (N2); until
//     then it is named, and so is what can no longer be sent.
//   - The peer's transmission queue is not filled beyond half of its quota.
package rebuild
