// Package sites holds tests with four real daemons: built, started, killed and stopped
// by the tests, with ports and directories of their own on loopback.
//
//   - The example's eight outcomes are what `fmqm-define run` says.
//   - Kill -9 of daemons, cuts of links and a full disk, by a seeded schedule, change nothing.
//   - Nor do they, nor do restored stores, for clerks at four sites who take the same work from each other: of each claim one at
//     most is told that it is his, and a home forgets only what it had granted after its copy was made.
//   - A peer that is dead for long, with 200,000 messages waiting for it, hurts nobody.
//   - A bundle of 100,000 elements over four sites, two of which are killed meanwhile, ends whole and in order.
//   - A start that is repeated starts one instance, also when the daemon was frozen or
//     killed, or the client gave up or was killed.
//   - A daemon that is stopped holds up no path that dies: it passes around.
//   - SIGTERM lets programs finish, a second signal does not.
//   - Every command, in the order of the help: what it prints and its exit code.
package sites
