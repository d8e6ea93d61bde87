package cgroup

// ByMoving has a tree start programs as where clone3 is not to be had.
func ByMoving(t *Tree) { t.direct = false }
