// Package erase overwrites personal data of instances that have ended, at every node of their process.
//
//	overwrite.go  what is overwritten in one audit record
//	erase.go      the node's part: works off what it was asked, and tells how far it is
//	left.go       what else of an instance lies at the node, which is not overwritten
//	question.go   the word: from any node to the origin, and from there to every node of the process
//
// # What a node has of an instance that has ended
//
//   - audit records: the start with the process's input, the end with its output, the end of each activity with its output
//     container, what was begun with its input, events that were sent with their data and key; reasons, errors and the last
//     lines of programs. Large containers lie apart, in chunks. All that is overwritten here.
//   - files in which it is kept what programs have written (package logs): lines of the instance are taken out.
//   - notices of what has happened to it that nobody has taken off: they are taken off, at the node where it was started.
//   - what else has not come to an end: messages in a process queue, messages that wait for a peer, refused messages. These
//     are somebody's to decide about, or need a peer: they are told as left, and nobody is told that all is erased.
//   - nothing else: snapshots, drafts, work items, timers and words went with the end of their activities; the index of
//     instances has times and states; that of values loses what its start is not found by any more; what retention leaves has sums.
//
// # What is overwritten
//
// A member is named by a path, as container.Members has it, and is overwritten with its default in each container of the
// instance in which there is one: whatever activity it is of, and however deep it is in a structure or a list. Mappings
// are not followed: what was mapped to a member of another name is named by that name. A path that no
// container at any node has is refused. With any erasing the texts go which programs and people have written, and the keys of
// events, since nobody can tell what of that is data.
//
// What refuses repeats stays (invariant 5, N2): identifiers, keys of records, what was consumed and sent and under which
// numbers, ends of activities, the key of the start, and of the input a sum, by which a repeat of the start is told.
//
// # What it guarantees
//
//   - It is asked of the origin, which alone knows that the instance has ended (N1), and which asks the others. A node takes it from
//     the origin of what it has, if its `remote_operators` take that of who asks, and from an administrator of its own.
//     Else nothing changes.
//   - It is on disk that a node was asked before anybody is told so (record.Erasing), and stays there until nothing of
//     what was overwritten is in the files of the store: who is killed goes on. Repeated, it changes nothing.
//   - Records are rewritten in transactions of bounded size, each with how far it has come; no program, link or termination waits.
//   - A line of history says who has erased which members, why, and in how many records; never what they had.
//   - A node that has not answered is named. Nobody is told that all is done before all have said so.
package erase
