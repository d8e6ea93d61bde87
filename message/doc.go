// Package message is what one activity tells another: the header that every
// message has, the bodies of each kind, and their encoding, which is the same in a
// queue, in a transmission queue and in a frame between sites.
//
// What it guarantees:
//
//   - Identity (N11): within a node's queue a message is known by its entry (instance, scope,
//     target activity) and its [Key] there (kind, source activity with its scope, number).
//     Putting a second message with both replaces the first.
//   - Whether a connector is resolved, and how, stands in the header; the body need
//     not be read for it.
//   - Encode is deterministic; Decode is strict (no unknown or duplicate keys, within
//     limits checked before allocation) for the format versions that it knows.
//   - Fields that later releases gave a use are in the format from version 1 on: lane, scope,
//     on-behalf, trace. Version 2 added the source's own scope and the number; a message that
//     needs neither, nor is of a kind that came with it, is written in version 1.
//
// It does no I/O.
package message
