// Package generate draws random processes for the tests of a whole network: the
// definition as a file, an input, and what every program will give.
//
// What it guarantees:
//
//   - Every definition that it draws is free of errors (warnings it has in plenty):
//     a test of its own holds this.
//   - [Case.Result] is a function of seed, activity with its scope, iteration, attempt and
//     input, so that a distributed run and the oracle can be given the same program results.
//   - Nothing waits long: pauses between iterations and attempts are a millisecond,
//     loops end after a few iterations.
//   - Only [Racing] and what is drawn as it is ([Bundling], [SignalsAt], [TimedAt]) have deadlines, waits, errors that are
//     caught, cancelling and the first match: how races come out is for the run to say.
//   - About one process in three has blocks, mostly one inside another at most, and then less
//     beside them.
//
// The members of all structures come from one pool in which a name has one type, so
// members of the same name always match; which names a structure has is drawn.
package generate
