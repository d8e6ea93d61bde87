// Package inspect looks through a store at rest, record by record: Verify says what is damaged, Dump
// shows what there is, and Record says what is wrong with one record by itself. It changes nothing, and goes on behind what it cannot read.
package inspect
