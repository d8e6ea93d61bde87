// Package schedules starts instances at this node when the schedules of its processes are due
// (N23). schedules.go has the loop, due.go what is to be started, words.go what people ask for.
//
// What it guarantees:
//
//   - An instance's identifier follows from the process's name, the node and the time for which it
//     is started. So a kill between a start and its record, a clock that is set back, or two versions
//     of a process start nothing twice (N2).
//   - How far a process has come is a record of the store. What was due while the node was down, or
//     the schedules suspended, is made up for as each schedule says (missed), and counted where not.
//   - The current version here counts (package tables). Rules that were not here before are due from now on.
//   - No decision of navigation asks this clock (invariant 14): a clock that is wrong starts an
//     instance early or late.
//   - While the node takes on no work (S3) a start waits.
package schedules
