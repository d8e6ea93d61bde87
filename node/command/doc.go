// Package command is what operators command: at their own site, and at others through it (N7, N15,
// L5).
//
//	commands.go   what it uses of the node; which processes it may speak of
//	allow.go      whose commands of another site are carried out
//	waiting.go    who waits here for the answer to a word; which are being put; whom answers are owed
//	ask.go        a word is put, and its answer waited for
//	retry.go      the word that there is: retry
//	take.go       words and answers that links bring
//	end.go        an instance's end, told to a node by the marker of its origin
//	terminate.go  an operator ends an instance
//	suspend.go    an operator suspends an instance, or an activity of it, and lets it go on
//	refused.go    an operator decides about refused messages
//
// # Words
//
// What an operator wants of an activity is a message, a word (N15): it is put at the node that was
// asked, for the activity's home. There it lies in the activity's entry until the process thread has
// carried it out, in one transaction with its answer (node/thread/command.go). Where home is another
// node, the link carries both. Who asked waits here for the answer; that the word was asked, and how it
// was answered, stands in the history of both nodes. So a word to a site that is cut off is done once
// that hears of it, whatever stops meanwhile.
//
// A site of the version before reads no words: it is asked by a question, which it answers at once
// or never. So are terminations, which the origin of an instance carries out.
//
// # What it guarantees
//
//   - A word is put once, and carried out once, however often and by how many at once it is asked or
//     brought: it has an identifier, and a repeat with that is told what came of it, or waits for it. Who
//     says that he repeats one puts none: one that is not known here is not found.
//   - An answer that does not come within seconds says nothing: the word is on disk and on its way, and
//     the operator is told so, with the identifier by which he can ask again. Who waits is told by
//     nothing but an answer that is on disk (invariant 8).
//   - Of what a peer writes into a word or an answer nothing is believed but who its operator is: it must
//     have been asked at that peer, of an activity that this node hosts; an answer must be to a word
//     that was asked here of that peer (invariant 11). Each is taken once (invariant 5). Neither makes an
//     entry, resolves a connector or tells where an instance was started (invariant 4).
//   - A command of another site's operator is carried out if the configuration here takes it
//     (remote_operators); whether it is, stands in the log. Who has no part in a process is told of it
//     what somebody is told where there is none.
//   - The answers that wait for a peer are bounded by the quota of its transmission queue, refusals by once
//     and others by twice that; a word beyond it is set aside (S3). So are the markers that a peer asks
//     for: beyond the quota of whom they are for it is told to ask again.
//   - What a decision about a refused message has put on disk is acted on also where the operator has gone.
//   - An instance is ended by its origin only; a refused message takes effect by an operator's decision
//     only, in one transaction with a line of history that says whose.
//   - No lock is held while the store is read, a peer is asked, or the Site is called.
package command
