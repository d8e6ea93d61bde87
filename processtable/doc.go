// Package processtable is what a node knows of a process: one [Table] for each
// (process, node), with an [Activity] for every activity that the node hosts
// (Exotica/FMQM §3.2), compiled by the definition node and stable at the node.
//
// What it guarantees:
//
//   - Encode is deterministic to the byte; Decode accepts nothing that Encode could
//     not have written, within limits that it checks before it allocates, and says
//     what is wrong and where.
//   - A Table that Decode returned is whole: every index and type in it is valid,
//     every connector has an end at this node.
//   - A table is immutable; N3: name@version is bound to one definition hash for ever.
//
// It does no I/O. The types of identifiers that all rooms share live here too.
package processtable
