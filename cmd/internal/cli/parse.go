package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fmqm/container"
)

// line is a command line that was understood.
type line struct {
	path     []*cli.Command // the command, from the outside in
	arranged []string       // commands, then flags, then --, then arguments
	help     bool
	version  bool
	bare     bool // a command is missing: show which there are
}

// parse finds the command of args and puts its flags before its arguments, since
// urfave/cli takes what follows the first argument for arguments, and says nothing. Flags of
// the command may stand before it.
func parse(app *cli.App, args []string) (line, error) {
	l := line{}
	commands, flags, name := app.Commands, app.Flags, app.Name
	early, args := flagsBefore(app, args)
	for len(commands) > 0 {
		var command *cli.Command
		if len(args) > 0 && !isFlag(args[0]) {
			if args[0] == "help" {
				args, l.help = args[1:], true
				continue
			}
			command = find(commands, args[0])
			if command == nil && takesArguments(l.path) {
				break
			}
			if command == nil {
				return l, unknownCommand(name, args[0], commands)
			}
			args = args[1:]
			l.path, l.arranged = append(l.path, command), append(l.arranged, command.Name)
			commands, flags, name = command.Subcommands, command.Flags, name+" "+command.Name
			continue
		}
		l.bare = !l.help && !acts(l.path)
		break
	}
	return l, l.rest(app, name, flags, append(early, args...))
}

// flagsBefore takes the flags that stand before the command, with their values: a flag that
// any command has, and behind which one follows.
func flagsBefore(app *cli.App, args []string) (early, rest []string) {
	for rest = args; len(rest) > 0 && isFlag(rest[0]); {
		flag, value := findFlag(allFlags(app.Commands), rest[0])
		n := 1
		if flag != nil && !value && takesValue(flag) {
			n = 2
		}
		if flag == nil || len(rest) <= n || slices.Contains(app.Flags, flag) {
			return nil, args
		}
		early, rest = append(early, rest[:n]...), rest[n:]
	}
	return early, rest
}

func allFlags(commands []*cli.Command) []cli.Flag {
	var all []cli.Flag
	for _, c := range commands {
		all = append(append(all, c.Flags...), allFlags(c.Subcommands)...)
	}
	return all
}

// acts says whether a command does something by itself, though there are others below it.
func acts(path []*cli.Command) bool { return len(path) > 0 && path[len(path)-1].Action != nil }

// takesArguments says whether such a command has arguments of its own: what is no command
// below it is one.
func takesArguments(path []*cli.Command) bool {
	return acts(path) && path[len(path)-1].ArgsUsage != ""
}

// rest understands what follows the command.
func (l *line) rest(app *cli.App, name string, flags []cli.Flag, args []string) error {
	var given, arguments []string
	set := map[cli.Flag]bool{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			arguments, args = append(arguments, args...), nil
			continue
		case !isFlag(arg):
			arguments = append(arguments, arg)
			continue
		case arg == "--help" || arg == "-h":
			l.help = true
			continue
		case arg == "--version" && len(l.path) == 0 || arg == "-v" && len(l.path) == 0:
			l.version = true
			continue
		}
		flag, value := findFlag(flags, arg)
		if flag == nil {
			return unknownFlag(name, arg, flags)
		}
		set[flag] = true
		if letter, attached, ok := attachedValue(arg, flag); ok {
			given = append(given, letter+"="+attached)
			continue
		}
		given = append(given, arg)
		if value || !takesValue(flag) {
			continue
		}
		if len(args) == 0 {
			return Usagef("%s needs a value: see %s --help", arg, name)
		}
		given, args = append(given, args[0]), args[1:]
	}
	if l.help || l.version {
		return nil
	}
	if l.bare {
		if len(given)+len(arguments) > 0 {
			return Usagef("a command is missing: see %s --help", name)
		}
		return nil
	}
	l.arranged = append(append(append(l.arranged, given...), "--"), arguments...)
	return check(app, l.path, name, flags, set, arguments)
}

// check says whether the flags and arguments that a command needs are there.
func check(app *cli.App, path []*cli.Command, name string, flags []cli.Flag, set map[cli.Flag]bool, arguments []string) error {
	for _, f := range flags {
		if r, ok := f.(cli.RequiredFlag); ok && r.IsRequired() && !set[f] {
			return Usagef("--%s is missing: see %s --help", f.Names()[0], name)
		}
	}
	usage := app.ArgsUsage
	if len(path) > 0 {
		usage = path[len(path)-1].ArgsUsage
	}
	least, most := 0, 0
	for i, word := range strings.Fields(usage) {
		if !strings.HasPrefix(word, "[") {
			least++
			if len(arguments) <= i {
				return Usagef("%s is missing: see %s --help", strings.TrimSuffix(word, "..."), name)
			}
		}
		most++
		if strings.Contains(word, "...") {
			most = len(arguments)
		}
	}
	if len(arguments) > max(least, most) {
		return Usagef("%q is one argument too many: see %s --help", arguments[most], name)
	}
	return nil
}

// isFlag says whether a word is a flag; "-" alone stands for standard input.
func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' }

func find(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

// findFlag finds the flag that word names, and says whether its value is in it, as in
// --format=json or -ojson. What takes no value may have =true or =false.
func findFlag(flags []cli.Flag, word string) (flag cli.Flag, value bool) {
	name, _, value := strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			return f, value
		}
	}
	for _, f := range flags {
		if _, _, ok := attachedValue(word, f); ok {
			return f, true
		}
	}
	return nil, false
}

// attachedValue takes a value from the letter of its flag: -ojsonl is -o jsonl.
func attachedValue(word string, f cli.Flag) (letter, value string, ok bool) {
	if len(word) < 3 || word[1] == '-' || word[2] == '=' || !takesValue(f) {
		return "", "", false
	}
	name, _, _ := strings.Cut(word[1:], "=")
	if slices.Contains(f.Names(), name) || !slices.Contains(f.Names(), word[1:2]) {
		return "", "", false
	}
	return word[:2], word[2:], true
}

func takesValue(f cli.Flag) bool {
	d, ok := f.(cli.DocGenerationFlag)
	return ok && d.TakesValue()
}

func unknownCommand(name, word string, commands []*cli.Command) error {
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Names()...)
		}
	}
	if near, ok := container.Nearest(word, names); ok {
		return Usagef("%s has no command %q: did you mean %s?", name, word, near)
	}
	return Usagef("%s has no command %q: there are %s", name, word, strings.Join(names, ", "))
}

func unknownFlag(name, word string, flags []cli.Flag) error {
	var names []string
	for _, f := range flags {
		for _, n := range f.Names() {
			names = append(names, dashed(n))
		}
	}
	word, _, _ = strings.Cut(word, "=")
	if len(flags) == 0 && !strings.Contains(name, " ") {
		return Usagef("%s has no flag %s before its command: write the command first, then its flags; see %s --help", name, word, name)
	}
	if near, ok := container.Nearest(word, append(names, "--help")); ok && len(word) > 2 {
		return Usagef("%s has no flag %s: did you mean %s?", name, word, near)
	}
	return Usagef("%s has no flag %s: see %s --help; what begins with - and is an argument goes after --", name, word, name)
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// CheckLine says whether args would be understood, without doing anything: tests check
// the examples of help with it.
func CheckLine(app *cli.App, args []string) error {
	l, err := parse(app, args)
	if err == nil && l.bare {
		return fmt.Errorf("%v: no command", args)
	}
	return err
}
