// Command bench measures the engine beside its yardsticks, in one run on one machine:
// terminations a second of chains of noop activities at one node, against the bare
// store doing as many transactions of the same shape through the same committer; and a
// chain on an idle node, in durable writes' time. docs/performance.md says what the
// figures mean and what bounds them.
package main
