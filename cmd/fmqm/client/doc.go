// Package client is the command fmqm: it starts process instances, shows them and lets
// an operator decide. All that it knows it asks a node for, over its API.
//
// What it guarantees:
//
//   - An order is never doubled: start makes the instance's identifier before it asks,
//     and repeats with the same one when no answer comes (N2).
//   - Standard output has data only, in the shape that -o asks for; whatever else there
//     is to say goes to standard error.
//   - --wait ends with 0 only for an instance that has finished.
package client
