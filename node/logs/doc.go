// Package logs keeps what programs have written last to their standard error, and to their standard
// output where an activity has no output, in files beside the store: for whoever asks why an activity
// does what it does.
//
//	attempt.go   what one attempt of a program has written
//	logs.go      what waits to be written, and who writes it
//	files.go     the files: one attempt a line, the oldest file removed first
//	read.go      looks for the attempts of an instance; takes them out
//
// Each file stands on those above it only.
//
// # What it guarantees
//
//   - Logs are derived (invariant 1): nothing rests on them, nothing waits for them. Keep puts what an
//     attempt has written where a task of its own writes it, and drops it where that task is behind by
//     [maxPending]. Nothing is synced: a power cut may take the last of it.
//   - They are bounded: of one attempt the last Limits.Attempt bytes are kept, of all attempts together
//     Limits.Bytes, and none for longer than Limits.Age. What is beyond is removed, the oldest first.
//   - On a disk where room is low nothing is written, and what is there is removed: logs are the first
//     to go.
//   - The directory is the daemon's alone (mode 0700, files 0600), inside of the data directory, which
//     programs of the daemon's user are kept from (P4).
//   - A file that cannot be read, or was cut in the middle of a line, costs what it held and no more.
//   - The files hold nothing by which programs prove themselves: package program has taken out secrets
//     and what a registration says is to be redacted, before a line comes here.
package logs
