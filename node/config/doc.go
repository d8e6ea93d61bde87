// Package config reads a node's configuration file.
//
// What it guarantees:
//
//   - A *Config that Load returns is whole: every default is filled in, every path is
//     absolute, every program can be registered, and nothing in it is known to fail.
//   - Everything that is wrong is reported in one go, each with file, line, column, what
//     is wrong and what to do: unknown and repeated keys too.
//   - What this version does not do is refused, never ignored.
//   - Without `insecure: true` nothing listens or calls beyond this machine that is not
//     encrypted and authenticated (invariant 11); with it, [Config.Risk] names what does.
//   - A password is never in the configuration, nor in what is said about it.
//
// Flags come before environment variables, those before the file, that before the
// defaults. Load reads the file, and those that `definers` and `staff` name; whether certificates
// fit is for who uses them to see. It changes nothing.
package config
