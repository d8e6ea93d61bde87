// Package file reads a staff from a YAML file: roles, organisations and people, as
// docs/staff.md has them.
//
// What it guarantees:
//
//   - All that is wrong with a file is said at once, each with line, column, the line and what to
//     do; unknown and repeated keys too. Only what is no YAML ends the reading.
//   - The file's size, and of how many parts it is, are bounded before it is parsed; how deep
//     they are nested is bounded by the language itself.
//   - Anchors, aliases and tags are refused: the file means what it shows.
package file
