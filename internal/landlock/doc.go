// Package landlock keeps programs from files: with Landlock, which needs no privilege
// (Linux 5.19 and later).
//
// What it guarantees of who is put under the rules of a [Fence], and of every process that
// comes from it, whatever it does:
//
//   - It cannot read, write, make, remove or rename what the fence hides, and only read
//     what is read-only.
//   - It cannot trace a process outside, nor read its memory, environment or files.
//   - From Linux 6.2 it cannot cut such files short, from 6.12 it cannot signal a process
//     outside. [Fence.Gaps] says what the running kernel lacks.
//
// What it cannot do: names and sizes stay visible; rights of a file that the user owns
// can be changed; Unix sockets can be connected to.
//
// Landlock knows only what is allowed, so a fence allows all that lies beside the way to
// what it is around. So nothing can be made in a directory on that way: [New] refuses
// where this user could otherwise make something there.
package landlock
