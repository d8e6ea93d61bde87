// Package sim is a network of sites in one test process: real nodes with real links
// between them, over stores in memory or on disk that survive their nodes, wires that
// can be cut, and a clock that runs faster than the wall's. It is for tests, of this
// package and of others.
//
//	Network    the sites and the wires between them
//	Site       a store, and a node on it that can crash at any commit and come back
//	Play       which programs give what, for random processes of sim/generate
//	Differences  what an instance's status and the oracle's result do not agree on
//
// What it holds the nodes to (its tests):
//
//   - Equivalence (invariant 7): for the same definition, input and program results
//     every activity has the same state, iterations, attempts and containers as in the
//     interpreter's run, and every attempt was given the same input.
//   - Crashes of nodes and cuts of links change nothing of that (invariants 1, 2, 5, 6).
//   - Nothing is left behind: when all instances have ended, all queues are empty.
package sim
