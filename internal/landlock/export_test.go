package landlock

import "strings"

// SetMaxBeside changes what a directory may have.
func SetMaxBeside(n int) { maxBeside = n }

// GapsHere are those of a fence on this kernel.
func GapsHere() string { return strings.Join((&Fence{abi: version()}).Gaps(), "; ") }

// GapsOf are those of a kernel with a version of the interface.
func GapsOf(abi int) []string { return (&Fence{abi: abi}).Gaps() }
