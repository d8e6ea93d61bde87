// Package rebuild has tests of sites that lost their store, or had an older copy of it
// restored, or run twice: their peers notice, stop that link only, and an operator makes
// the site whole from what the others' audit can build again (L1, S4).
package rebuild
