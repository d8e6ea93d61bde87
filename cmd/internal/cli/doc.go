// Package cli is what the commands fmqm, fmqm-define and fmqmd have in common: flags
// anywhere on the line, help, output formats, errors and exit codes.
//
// A program is a tree of urfave/cli commands, run by [Main]. Of a command are used:
//
//	Name, Aliases, Subcommands
//	Usage         one line, no capital, no full stop
//	Description   what help says
//	UsageText     the examples of help, one a line, each as it would be typed
//	ArgsUsage     the arguments, such as "INSTANCE [ACTIVITY] [FILE...]"; Main checks
//	              that as many are there as it says
//	Flags, Action
//
// What it guarantees:
//
//   - Flags may stand before, between and after the arguments; after -- all are
//     arguments. An unknown flag or command, a missing or superfluous argument and a
//     value that does not fit are exit code 2 with a hint, and nothing has been done.
//   - Data goes to standard output, talk and errors to standard error. Colour only on a
//     terminal, and not with NO_COLOR.
//   - Exit codes: see [Error].
//   - Completion and manual page are made of the same tree ([CompletionCommand],
//     [ManCommand]), and [CheckHelp] holds them to it.
package cli
