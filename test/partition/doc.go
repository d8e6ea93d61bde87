// Package partition holds tests with real daemons in network namespaces of their own:
// four sites behind a router whose packet filter cuts one direction, both, or all, as
// networks do. They need root and a kernel that allows namespaces; elsewhere they are
// skipped with the reason.
package partition
