// Package condition is the expression language of processes: CEL over the members
// of one container, the return code _RC and other words of the engine, and boolean
// start expressions over the names of predecessors.
//
// A condition's life has two halves. [Check] runs once, at the definition node: it
// parses, types and rewrites the text (an int literal beside a double becomes a
// double) and gives a [Checked], which is plain bytes. [Load] runs at every node
// that needs it: it needs neither parser nor checker, and gives a [Condition] that
// many goroutines may evaluate at once. An expression gives a value of the type that is
// wanted where it stands: [CheckExpr], [LoadExpr] and [Expr] are the same for it.
//
// What it guarantees:
//
//   - What Check accepts, Load accepts, on any node of the same or a later version.
//   - Eval is pure and gives TRUE, FALSE or an error (a division by zero, an index
//     out of range); an error is never taken as a truth value. An expression gives a value
//     that a container can hold, or an error.
//   - Evaluation takes bounded time, less than half a second's work, and all conditions
//     and expressions about one result together some two seconds' (budget.go). What reads
//     short texts and single values only, without macros (all, exists, map, filter), regular
//     expressions and sums of strings, runs without counting; all else is counted, texts and
//     lists by their length, also in the value of an expression, and ended with an error
//     (cost.go).
//   - It gives the same at every site: no clock, no time zone data, no locale.
//   - Problems are given as offset, message and remedy, for the definition room to
//     show at their place in the file.
//
// Which members of its scope a condition reads, for the warning about a container of
// which nothing is read, is what [ReadsOf] says; it is not shipped.
//
// It does no I/O.
package condition
