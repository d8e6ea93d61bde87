// Package trust says whom a site believes (invariant 11): who may define processes and the
// programs that these run here, and which operators at other sites may command here. It is
// what the configuration says, as a value that does not change: a new configuration is
// another value.
//
// What it guarantees:
//
//   - What nothing allows is refused, with what to do about it where that is the site's to say.
//   - Only the end of a signature depends on a clock, and only where an upload comes in
//     (Definers.Barred): what one site has taken, all take (invariant 14).
package trust
