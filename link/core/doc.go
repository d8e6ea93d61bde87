// Package core is one end of a link as a machine: typed events in, typed effects out,
// without goroutines, clock or I/O (invariant 13), so that a simulation runs it seed by
// seed. It decides all that rules L1 to L6 say of a conversation; package link is the shell
// that carries out what it wants, and asks it nothing but [Core.Step], [Core.Standing] and
// [Core.Restless].
//
// testdata/scenarios tells it as stories, line by line.
package core
