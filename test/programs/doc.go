// Package programs holds no code but tests: what programs do to a daemon, and a daemon
// to programs, tried with the real fmqmd and real processes. A program that fails,
// hangs, prints garbage or 1 GiB, leaves children, dies by a signal, or outlives a
// killed daemon; services that answer late, wrong or not at all.
package programs
