// Package rebuild has tests of sites that lost their store, or had an older copy of it
// restored, or run twice: their peers notice, stop that link only, and an operator makes
// the site whole from what the others' audit can build again (L1, S4). Four real daemons
// each, over direct links and over a private RabbitMQ; they are built with failpoints, so
// that who sends again, and who is rebuilt, can be killed between two chunks of it.
//
// And of a store that is whole and slow: its late answer counts for what it was asked.
package rebuild
