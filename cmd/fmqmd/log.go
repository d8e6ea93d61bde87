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
		w = zerolog.ConsoleWriter{Out: w, NoColor: env("NO_COLOR") != "" || !cli.IsTerminal(w), TimeFormat: time.TimeOnly}
	case toJournal(w, env("JOURNAL_STREAM")):
		w = journal{w}
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger(), json, nil
}

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
