// Package staff says who works at a node (N26): people with their roles, organisations and
// managers, who stands in for whom, who is absent when, and whom a person of another site is
// here.
//
// What it guarantees:
//
//   - A *Staff that [Draft.Check] returns is whole and never changes: every name in it is known,
//     no chain of substitutes or organisations is a circle, no login and no person of another
//     site belongs to two. A reread makes a new one, so whoever holds one asks one state of affairs.
//   - Where the people come from (a file, a directory service) does not matter: a source fills a
//     [Draft], and what is wrong is said with its place there and what to do, all in one go.
//   - Look-ups take constant time, or time in the length of a chain, but for those that list people.
//   - Nothing asks a clock: whoever asks about absence hands the time in.
//
// Limits: 100,000 people; names of at most 64 characters; organisations 64 deep.
package staff
