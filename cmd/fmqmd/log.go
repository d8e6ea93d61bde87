package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
	ucli "github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"fmqm/cmd/internal/cli"
	"fmqm/internal/text"
)

// logger makes the log that the flags ask for. It says whether its lines are JSON.
func logger(c *ucli.Context) (log zerolog.Logger, json bool, err error) {
	level, err := zerolog.ParseLevel(c.String("log-level"))
	if err != nil {
		return zerolog.Nop(), false, cli.Usagef("--log-level %s: no such level: write debug, info, warn or error", c.String("log-level"))
	}
	w, env := io.Writer(cli.From(c).Err), cli.From(c).Env
	switch format := c.String("log-format"); format {
	case "json":
		json = true
	case "console":
	case "auto":
		json = !cli.IsTerminal(w)
	default:
		return zerolog.Nop(), false, cli.Usagef("--log-format %s: no such format: write json, console or auto", format)
	}
	switch {
	case !json:
		w = console(w, env("NO_COLOR") == "" && cli.IsTerminal(w))
	case toJournal(w, env("JOURNAL_STREAM")):
		w = escaped{journal{w}}
	default:
		w = escaped{w}
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger(), json, nil
}

// What a log line tells comes from peers and programs, too. No character of it steers a
// terminal or misleads a reader: not in JSON either, which journalctl shows as it is.

// escaped writes lines of JSON with such characters as JSON's escapes: they mean the same.
type escaped struct{ w io.Writer }

func (p escaped) Write(line []byte) (int, error) { return p.WriteLevel(zerolog.NoLevel, line) }

func (p escaped) WriteLevel(l zerolog.Level, line []byte) (int, error) {
	shown := text.JSON(line)
	var err error
	if w, ok := p.w.(zerolog.LevelWriter); ok {
		_, err = w.WriteLevel(l, shown)
	} else {
		_, err = p.w.Write(shown)
	}
	if err != nil {
		return 0, err
	}
	return len(line), nil
}

// console writes lines for people, with colours if asked.
func console(w io.Writer, colours bool) zerolog.ConsoleWriter {
	painted := func(paint string) zerolog.Formatter {
		return func(v any) string {
			if v == nil {
				return ""
			}
			shown := oneLine.Replace(text.Visible(fmt.Sprintf("%s", v)))
			if colours && paint != "" {
				return paint + shown + "\x1b[0m"
			}
			return shown
		}
	}
	return zerolog.ConsoleWriter{
		Out: w, NoColor: !colours, TimeFormat: time.TimeOnly,
		FormatMessage: painted("\x1b[1m"), FormatFieldValue: painted(""), FormatErrFieldValue: painted("\x1b[1;31m"),
	}
}

// oneLine keeps a text from passing for several lines of the log.
var oneLine = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// toJournal says whether w is the stream that systemd's journal reads (systemd.exec(5)).
func toJournal(w io.Writer, stream string) bool {
	f, ok := w.(*os.File)
	if !ok || stream == "" {
		return false
	}
	var s unix.Stat_t
	return unix.Fstat(int(f.Fd()), &s) == nil && stream == fmt.Sprintf("%d:%d", s.Dev, s.Ino)
}

// journal gives each line the priority of its level, as the journal reads it
// (sd-daemon(3)), so that `journalctl -p warning` finds what is worth looking at.
type journal struct{ w io.Writer }

func (j journal) Write(p []byte) (int, error) { return j.WriteLevel(zerolog.NoLevel, p) }

func (j journal) WriteLevel(l zerolog.Level, p []byte) (int, error) {
	if _, err := fmt.Fprintf(j.w, "<%d>%s", priority(l), p); err != nil { // in one piece
		return 0, err
	}
	return len(p), nil
}

func priority(l zerolog.Level) int {
	switch l {
	case zerolog.TraceLevel, zerolog.DebugLevel:
		return 7
	case zerolog.WarnLevel:
		return 4
	case zerolog.ErrorLevel:
		return 3
	case zerolog.FatalLevel, zerolog.PanicLevel:
		return 2
	case zerolog.InfoLevel, zerolog.NoLevel, zerolog.Disabled:
	}
	return 6
}

// ending logs why the daemon ends, if it was not asked to: as a line of the log like any
// other where that is read by a program, and for people as every command does.
func ending(log zerolog.Logger, json bool, err error) error {
	if err == nil || !json || cli.ExitCode(err) == cli.ExitUsage {
		return err
	}
	log.Error().Str("error", strings.TrimSpace(err.Error())).Msg("the daemon ends")
	return &cli.Error{Exit: cli.ExitCode(err)}
}
