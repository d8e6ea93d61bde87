// Package record is the layout of a node's store: its keys, and what their records hold, as
// bytes and back. It is pure.
//
// Keys sort so that everything of one (queue, instance, scope, activity) lies together, and
// history lies apart from what is scanned at open; keys.go has the layout. A record's value is
// its version, its content and a checksum over its key and all that stands before it (record.go),
// so that a record that is not what its key says is an error that names it, never a wrong value.
// The large part of one may lie apart, as chunks (body.go).
//
// A Tx says in these words what is to happen at once, and a Delivery what has come of it; so the
// rooms that decide can ask for it without knowing who commits it.
//
// What is written once stays readable for ever: golden files guard the bytes.
package record
