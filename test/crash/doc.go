// Package crash kills a daemon at every point between two writes, on purpose, and
// looks at what the node does next: docs/crash-table.md is its table. It has tests only.
package crash
