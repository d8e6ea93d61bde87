package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Streams are what a command reads, writes and is told by its surroundings.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Env      func(name string) string
}

// OS gives the streams of this process.
func OS() Streams {
	return Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Getenv}
}

const streamsKey = "streams"

// From gives the streams that Main was called with.
func From(c *cli.Context) *Streams { return c.App.Metadata[streamsKey].(*Streams) }

// Main runs the command that args (with the program's name first) ask for, and gives
// its exit code. The first interrupt, or other of the signals, cancels the command's
// context, the second ends the process. app is used up.
func Main(app *cli.App, args []string, s Streams, also ...os.Signal) int {
	ctx, stop := signal.NotifyContext(context.Background(), append(also, os.Interrupt)...)
	defer stop()
	context.AfterFunc(ctx, stop)
	return Run(ctx, app, args, s)
}

// Run is Main without signals, for a program that has its own.
func Run(ctx context.Context, app *cli.App, args []string, s Streams) int {
	err := run(ctx, app, args, &s)
	if err == nil {
		return ExitDone
	}
	if text := err.Error(); text != "" {
		style := NewStyle(s.Err, s.Env)
		fmt.Fprintf(s.Err, "%s %s\n", style.Bad(app.Name+":"), printable(text))
	}
	return ExitCode(err)
}

func run(ctx context.Context, app *cli.App, args []string, s *Streams) error {
	prepare(app, s)
	if len(args) > 1 && args[1] == completeCommand {
		return complete(ctx, app, args[2:], s)
	}
	line, err := parse(app, args[min(1, len(args)):])
	switch {
	case err != nil:
		return err
	case line.version:
		_, err := fmt.Fprintf(s.Out, "%s %s\n", app.Name, Version())
		return err
	case line.help:
		return printHelp(s.Out, app, line.path)
	case line.bare:
		if err := printHelp(s.Err, app, line.path); err != nil {
			return err
		}
		return &Error{Exit: ExitUsage}
	}
	err = app.RunContext(ctx, append([]string{app.Name}, line.arranged...))
	if err != nil && errors.Is(ctx.Err(), context.Canceled) && ExitCode(err) != ExitUsage {
		return Failedf("interrupted")
	}
	return err
}

// prepare turns off all that urfave/cli does by itself: it prints help to standard
// output where there is an error, and exits 0.
func prepare(app *cli.App, s *Streams) {
	app.Writer, app.ErrWriter = s.Err, s.Err
	app.HideHelp, app.HideVersion = true, true
	app.ExitErrHandler = func(*cli.Context, error) {}
	app.OnUsageError = usageError
	app.Metadata = map[string]any{streamsKey: s}
	var each func([]*cli.Command)
	each = func(commands []*cli.Command) {
		for _, c := range commands {
			c.HideHelp = true
			c.OnUsageError = usageError
			each(c.Subcommands)
		}
	}
	each(app.Commands)
}

// usageError makes exit code 2 of a flag's value that does not fit.
func usageError(c *cli.Context, err error, _ bool) error {
	name, flags := c.App.Name, c.App.Flags
	if c.Command != nil && c.Command.Name != "" && c.Command.Name != name {
		name, flags = name+" "+c.Command.Name, c.Command.Flags
	}
	if flag, value, ok := unfit(err.Error()); ok {
		for _, f := range flags {
			if remedy := fits(f); remedy != "" && slices.Contains(f.Names(), flag) {
				return Usagef("%s %s: %s: see %s --help", dashed(flag), value, remedy, name)
			}
		}
	}
	return Usagef("%v: see %s --help", err, name)
}

var unfitValue = regexp.MustCompile(`^invalid (?:boolean )?value (".*") for (?:flag )?-([^ :]+): parse error$`)

// unfit takes flag and value from what package flag says of a value that does not fit.
func unfit(said string) (flag, value string, ok bool) {
	m := unfitValue.FindStringSubmatch(said)
	if m == nil {
		return "", "", false
	}
	return m[2], m[1], true
}

// fits says what to write for a flag.
func fits(f cli.Flag) string {
	switch f.(type) {
	case *cli.IntFlag:
		return "write a whole number"
	case *cli.DurationFlag:
		return "write a number with its unit, such as 30s or 5m"
	case *cli.BoolFlag:
		return "write it without a value"
	}
	return ""
}

// Version says which build this is.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(version, s.Value[:min(12, len(s.Value))]) {
			version += " " + s.Value
		}
	}
	return version + " " + info.GoVersion
}
