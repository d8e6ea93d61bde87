// Package memory is a storage engine in memory, for simulations and tests: a [Disk], which
// survives those who use it, and an [Engine] opened on it, which a crash ends.
//
// What goes wrong is decided outside, by [Faults]: how long a commit takes, whether it fails,
// and whether it is on disk all the same; whether a read fails. A crash is whatever ends the
// tasks that use the engine; [Disk.Crash] then says what became of the commit under way. All
// that can happen is what docs/durability.md says: what Commit has returned is there, and the
// commit under way is there whole or not at all.
//
// An engine does the same for the same calls. It waits through its Scheduler only.
package memory
