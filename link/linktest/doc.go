// Package linktest is what tests of links share: a site's store as a link sees it, in
// memory, that can be full, fail or be an older one; and a log that a test can read.
package linktest
