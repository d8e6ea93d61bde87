// Package container holds the typed data that activities take and give: types,
// values, defaults, paths into them, and their two written forms, JSON (for
// people and programs) and CBOR (for queues and links).
//
// What it guarantees:
//
//   - A [Struct] is total: it has a value for every member of its type, the
//     default where nothing was assigned. There is no "missing" and no null.
//   - Values are never shared by accident: assigning copies what can be changed.
//   - Both decoders are bounded in depth, in list length and in size before they
//     allocate, and reject unknown and duplicate members, with errors that name
//     the member by its path.
//   - Encoding is deterministic: equal values give equal bytes.
//
// It does no I/O and knows nothing of processes, messages or conditions.
// A *Type is immutable once built and safe for concurrent use; a *Struct belongs
// to one goroutine at a time.
package container
