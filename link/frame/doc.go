// Package frame has what links exchange, and how it is written: frames of every version
// that was ever written stay readable (L6, testdata/frames.txt).
package frame
