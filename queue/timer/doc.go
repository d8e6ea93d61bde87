// Package timer makes messages of timers whose time has come (N13).
//
// What it guarantees:
//
//   - One transaction takes the timers and puts their messages, and until it is on disk no other is begun. So
//     none comes twice, and none is lost, whatever clocks do and wherever a kill falls.
//   - A timer that is on disk comes within a minute of its time, as the clock shows it, where the
//     mailboxes have room: clocks are set, and stand still while a machine sleeps. A pause that a clock which was set back would
//     prolong comes early instead.
//   - The timer queue is in the store. In memory is the nearest timer only.
//
// Only here is a clock asked whether a time has come. Nobody else decides that, so it does not
// matter who reads it first.
//
// Who calls: the manager runs Run as a task, calls Set from the committer's once a timer is on disk, and Stop after
// the committer has ended.
package timer
