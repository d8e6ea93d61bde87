// Package newcomer holds the first hour of somebody who has just cloned the project: what
// the README has people paste is pasted here, as it stands there, with the real binaries.
package newcomer
