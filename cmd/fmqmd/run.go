package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	ucli "github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/daemon"
	"fmqm/node/config"
)

// stopTimeout bounds a graceful stop: programs get the node's grace out of it.
const stopTimeout = 30 * time.Second

func runCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "run",
		Usage: "run the daemon",
		Description: "Runs until SIGTERM or SIGINT: then programs that run may finish for 10 s; a second\n" +
			"signal stops at once, which loses nothing. SIGHUP rereads programs, peers and limits.",
		UsageText: "fmqmd run --config /etc/fmqm/fmqmd.yaml\nfmqmd run --config a.yaml --data /tmp/a --listen 127.0.0.1:7411 --socket /tmp/a.sock",
		Flags: append(configFlags(),
			&ucli.StringFlag{Name: "log-format", Value: "auto", Usage: "`FORMAT` of the log: json, console, or auto: console on a terminal"},
			&ucli.StringFlag{Name: "log-level", Value: "info", Usage: "least `LEVEL` that is logged: debug, info, warn or error"},
		),
		Action: run,
	}
}

func configFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringFlag{Name: "config", Value: config.DefaultPath, Usage: "the configuration `FILE` (default: " + config.DefaultPath + ")"},
		&ucli.StringFlag{Name: "node", Usage: "`NAME` of this node, instead of the file's"},
		&ucli.StringFlag{Name: "data", Usage: "`DIR` of the store, instead of the file's"},
		&ucli.StringFlag{Name: "listen", Usage: "`ADDRESS` of the API and of direct links, instead of the file's"},
		&ucli.StringFlag{Name: "socket", Usage: "`PATH` of the local API, instead of the file's"},
		&ucli.StringFlag{Name: "store", Usage: "storage `ENGINE`, instead of the file's"},
	}
}

func loadConfig(c *ucli.Context) (*config.Config, error) {
	return config.Load(c.String("config"), cli.From(c).Env, config.Overrides{
		Node: c.String("node"), Data: c.String("data"), Listen: c.String("listen"),
		Socket: c.String("socket"), Store: c.String("store"),
	})
}

func run(c *ucli.Context) error {
	log, err := logger(c)
	if err != nil {
		return err
	}
	// Programs of the same user could trace the daemon, read its memory and environment, or
	// its core, where its keys are (prctl(2)).
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		log.Warn().Err(err).Msg("other processes of this user can look into the daemon")
	}
	conf, err := loadConfig(c)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt, syscall.SIGHUP)
	defer signal.Stop(signals)
	d, err := daemon.Start(daemon.Options{Config: conf, Log: log, Version: cli.Version()})
	if err != nil {
		return err
	}
	systemd := newManager(log)
	quiet := systemd.ready(d.Ready)
	log.Info().Str("listen", cmp.Or(d.Address(), "the socket only")).Str("socket", conf.Socket).Str("data", conf.Data).Msg("ready")
	for {
		select {
		case s := <-signals:
			if s != syscall.SIGHUP {
				quiet()
				systemd.stopping()
				return outside.stop(d, log, signals, nil)
			}
			systemd.reloading()
			fresh, err := reload(c, d, conf)
			if err != nil {
				log.Error().Err(err).Msg("configuration not taken up: what was configured before goes on")
			} else {
				conf = fresh
			}
			systemd.reloaded(err)
		case err := <-d.Failed():
			quiet()
			systemd.stopping()
			return outside.stop(d, log, signals, err)
		}
	}
}

// reload takes up the configuration as it is now, and gives it.
func reload(c *ucli.Context, d *daemon.Daemon, old *config.Config) (*config.Config, error) {
	fresh, err := loadConfig(c)
	if err != nil {
		d.ReloadFailed(err)
		return nil, err
	}
	return fresh, d.Reload(old, fresh)
}

// ender ends the process; tests have their own clock and exit.
type ender struct {
	after func(time.Duration) <-chan time.Time
	exit  func(code int)
}

var outside = ender{after: time.After, exit: os.Exit}

// stop ends the daemon, gracefully until a second signal. cause is why it has to stop,
// if nobody asked for it.
func (e ender) stop(d interface{ Stop(context.Context) error }, log zerolog.Logger, signals <-chan os.Signal, cause error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	var giveUp <-chan time.Time // nil: never
	if cause != nil {
		giveUp = e.after(stopTimeout)
		cancel() // the disk is not to be trusted: nothing is waited for
	} else {
		log.Info().Msg("stopping: programs that run may finish; a second signal stops at once")
	}
	done := make(chan error, 1)
	go func() { done <- d.Stop(ctx) }()
	for {
		select {
		case err := <-done:
			if cause != nil {
				return cli.Failedf("%v", cause)
			}
			return err
		case <-giveUp: // a write that was under way does not come back
			log.Error().Err(cause).Msg("the disk does not answer: ended without it")
			e.exit(cli.ExitFailed)
		case s := <-signals:
			if s != syscall.SIGHUP {
				log.Warn().Msg("stopped at once: what was under way begins again at the next start")
				e.exit(cli.ExitFailed)
			}
		}
	}
}

func logger(c *ucli.Context) (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(c.String("log-level"))
	if err != nil {
		return zerolog.Nop(), cli.Usagef("--log-level %s: no such level: write debug, info, warn or error", c.String("log-level"))
	}
	var w io.Writer = cli.From(c).Err
	switch format := c.String("log-format"); format {
	case "json":
	case "console":
		w = consoleWriter(w, cli.From(c).Env)
	case "auto":
		if cli.IsTerminal(w) {
			w = consoleWriter(w, cli.From(c).Env)
		}
	default:
		return zerolog.Nop(), cli.Usagef("--log-format %s: no such format: write json, console or auto", format)
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger(), nil
}

func consoleWriter(w io.Writer, env func(string) string) io.Writer {
	return zerolog.ConsoleWriter{Out: w, NoColor: env("NO_COLOR") != "" || !cli.IsTerminal(w), TimeFormat: time.TimeOnly}
}
