// Package fleet is what tests with real daemons share: sites as processes of their own,
// with ports and directories of their own on loopback, and the work that goes on while
// something happens to them.
//
// A test makes a [Fleet], gives it [Work] (instances of random processes whose programs
// note each attempt), lets the faults come that it is about, and asks at the end that
// the work is as the interpreter says ([Work.Judge]): every instance equal, every attempt
// given the right input, no execution under two keys or beside itself, nothing left in
// any queue, the stores whole.
package fleet
