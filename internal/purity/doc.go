// Package purity holds no code but a test: the rooms that decide (navigation,
// conditions, tables, definitions, messages, containers, the interpreter) do no I/O,
// read no clock, use no randomness, write no log and start no goroutine (invariant
// 13). The rooms that run at a site (link, node, queue) start tasks, wait and take the time
// through a task.Scheduler only. That is what lets a whole network of sites run, seed by seed,
// in one process.
package purity
