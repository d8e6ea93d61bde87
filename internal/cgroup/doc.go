// Package cgroup gives processes groups of their own in the part of the control group
// tree that was delegated to this process (cgroup v2): what is in a group stays findable,
// countable and endable, whatever it does to its session, parent and environment.
//
// What it guarantees:
//
//   - A process that [Group.Start] starts is in its group, with all that comes from it.
//     No right that an ordinary user has leads out of it, but for writing to the tree
//     itself, from which who starts programs keeps them.
//   - [Group.End] returns nil when nothing of the group runs any more. The kernel kills
//     all of it at once, also what is just being forked.
//   - Nothing is touched outside the delegated part; nothing is there unless whoever
//     manages the tree has marked it as delegated (systemd: Delegate=yes).
package cgroup
