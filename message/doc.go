// Package message is what one activity tells another: the header that every
// message has, the bodies of each kind, and their encoding, which is the same in a
// queue, in a transmission queue and in a frame between sites.
//
// What it guarantees:
//
//   - Identity: within a node's queue a message is known by [Message.Key], which is
//     (instance, scope, target activity, kind, source activity). Putting a second
//     message with a Key replaces the first.
//   - Whether a connector is resolved, and how, stands in the header; the body need
//     not be read for it.
//   - Encode is deterministic; Decode is strict (no unknown or duplicate keys, within
//     limits checked before allocation) for the format versions that it knows.
//   - All fields of the design are in the format from version 1 on, also those that
//     later versions give a use: lane, scope, on-behalf, trace.
//
// It does no I/O.
package message
