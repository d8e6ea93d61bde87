// Package schedule says when a process is due: by a cron expression in a time zone, or by an
// interval (N23).
//
// What it guarantees:
//
//   - It is a function of the rule and of times alone: it asks no clock. Two nodes with the same
//     rules of time zones agree.
//   - A local time that a clock jumps over is due at the first instant after the jump; one that
//     comes twice is due the first time. So each day of a daily rule has one start.
//   - An interval is counted from 1970-01-01T00:00Z, whatever the zone.
//   - What is wrong with a rule is said with what to write instead.
package schedule
