// Package upgrade has tests of a network in which not every site runs the same release:
// daemons of the release before, whose commit the file before names, beside today's, over
// direct links, with instances over all of them. Sites are upgraded one by one in place,
// while the others run and in every order; they are killed while they are; one stays as it
// is to the end; and a backup that the release before has written is restored by today's.
//
// What is released next is written into the file (`git rev-parse COMMIT >test/upgrade/before`), and its
// source is kept: `scripts/before.sh COMMIT`.
package upgrade
