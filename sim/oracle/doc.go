// Package oracle says what a run of a process over many sites must come to, and what of a
// real run is otherwise. It is for tests: sim/world and test/fleet ask it.
//
//	Expect       what the interpreter makes of a process with an input (invariant 7)
//	ExpectOf     the same, given how the races of a run came out, as its audit says (Outcomes; N14)
//	Admissible   what in the history of an instance cannot be: an outcome of a race without its cause
//	Differences  what of an instance's status is not so; Expectation.AttemptDifferences: of its programs' attempts
//	Misfits      what in an answer about an instance cannot be, whenever it was given
//	Left         what is left in a store, where all instances have ended
package oracle
