// Package format says in which format a store is, and brings an older one to the newest, before
// anything else reads it. A newer one is refused.
package format
