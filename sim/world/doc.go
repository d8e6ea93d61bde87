// Package world is a network of sites that a seed runs: real nodes with real links between
// them, on the event heap of a [task.World], over disks, wires and a broker on which all goes
// wrong that can, with programs, clients and operators. One seed is one world.
//
//	Draw      a Plan from a seed: what is there, and what happens when. A plan is data
//	Run       runs a plan, and gives a Report
//	Shrink    gives the smallest plan that still breaks the same invariant
//	Story     tells a plan, and what came of it
//
// What it holds the nodes to, after every event that can break it (ARCHITECTURE.md, Invariants),
// is said in watch.go and judge.go. They look at what is on disk, what programs were asked,
// and what was answered; nothing here does again what it judges.
//
// The same plan gives the same events, to the byte: [Report.Hash] is over all of them.
package world
