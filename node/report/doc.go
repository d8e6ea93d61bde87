// Package report is what the nodes tell of one instance, and the one answer that is put
// together from it (paper §4): status, history, and why it waits. It reads no store, asks nobody
// and waits for nothing: package answer hands it a view of the store, and the answers of others.
//
//	report.go      a question and its report, as they go over links
//	facts.go       what one node knows, made into its report
//	ended.go       an activity that has ended, from its record
//	asked.go       which part of an instance is asked for, and read
//	live.go        how far an activity is that has not ended: the fold of its messages
//	events.go      what a node has recorded, and what of it is news to who asks
//	fit.go         what is left out of a report that is too large for a link
//	believe.go     what of another node's report counts (invariant 11)
//	places.go      a roster, to be looked up; what a PATH names
//	gathered.go    the reports of all nodes, put together: the status
//	lines.go       the activities that are asked for, in order, and those that have not ended
//	show.go        which of them a status shows; the scope that a PATH names
//	consistent.go  what no report may say beside the others: no effect without its cause
//	why.go         what each activity waits for
//	watching.go    what a watcher has been told
//
// What it guarantees:
//
//   - Of an activity its host's report counts, and of an instance's state that of the node where
//     it was started; nobody else's word about them is shown.
//   - An answer shows no effect without its cause. What a node does not know yet is told as
//     not known, with the moment of the clock up to which it has told.
//   - What it costs to tell of some activities grows with these, and with what has not ended, but not with
//     what was (N18). A page of all is made of the keys of what has ended.
//   - What was left out is named, and so is who did not answer. To a watcher the rest of a history is
//     told with the next answers, and he stays for it while the node that has it answers.
package report
