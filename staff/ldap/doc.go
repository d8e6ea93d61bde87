// Package ldap asks a directory (LDAP version 3) who works at a node, as docs/staff.md has it
// (N26).
//
// What it guarantees:
//
//   - An answer is whole or none: every search has ended with success, or nothing of it is used.
//     A directory that shows nobody has not said that nobody works here.
//   - What the answer says is not trusted. An entry that cannot be a person, a role or an
//     organisation is left out, and said; what would leave open who is who refuses all of it, with
//     the name of the entry (DN) as its place. Nothing of an answer becomes part of a question.
//   - No password goes out before the other end has proved who it is, but on this machine.
//   - Time and size are bounded, whatever the other end does; referrals are not followed.
//
// Limits: 100,000 people, 500 MiB in one reading of at most 5 minutes.
package ldap
