// Package answer answers people, and the peers that ask on behalf of people: what an instance's
// status and history are, why it waits, which instances there are, what was refused, how peers are
// (paper §4). There is no central database: each node tells what it knows, and who was asked puts
// that together.
//
//	changes.go   who waits for an instance, and is told that something of it was committed here
//	refusals.go  the refused messages of instances, each read once
//	answers.go   what a node needs for its answers, and tells them
//	facts.go     what this node knows of an instance; what a peer is told of it
//	gather.go    asks the nodes of an instance for what they know
//	status.go    status, history, why it waits
//	logs.go      what programs have written
//	watch.go     waits for the end of an instance; tells of each event as it comes
//	listing.go   the instances that were started here; what a peer is told of them
//	unstarted.go what waits here for a start that is not known
//	list.go      the lists of all sites, made one
//	refused.go   the refused messages of this node, and what they carry
//	peers.go     how this node sees its links and peers
//
// Each file stands on those above it only.
//
// It stands on package report, which says what one node's facts come to and what of many reports
// may be believed, and on package question, which carries the questions.
//
// # What it guarantees
//
//   - An answer reads one view of the store, as of one commit, and what the process threads publish
//     of the programs that run. No process thread answers, and no lock is held while the store is
//     read or a peer is asked: a slow reader delays no work.
//   - It writes nothing, and nothing that it holds must outlive the process.
//   - A site that cannot be asked within [question.Timeout] is named, with the moment when it was last
//     heard. What only that site knows is told as unknown; an instance is not found only if every
//     node answered that it does not know it.
//   - Of a process a peer is told only if it has a part in it; else it gets the answer of a node that
//     knows nothing, so that it does not even learn that there is such a process (invariant 11).
//   - An answer to a peer fits into a frame; what was left out for that is named. A list's page is
//     bounded in lines, bytes and time, and says where the next goes on.
//   - Who waits or watches is woken by what is committed here ([Answers.Changed]); what happens at other
//     nodes he sees within two seconds, because they are asked again. A watcher is told of each event
//     once, and a node is asked only for what it has not told yet. Waiting ends with the instance or
//     with the caller's context, and keeps no task but the caller's own.
package answer
