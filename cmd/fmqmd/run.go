package main

import (
	"cmp"
	"context"
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

// commandRun is the command that handles its signals itself.
const commandRun = "run"

func runCommand() *ucli.Command {
	return &ucli.Command{
		Name:  commandRun,
		Usage: "run the daemon",
		Description: "Runs until SIGTERM or SIGINT. Then running programs have 10 s to finish. A second signal stops\n" +
			"at once and loses nothing. SIGHUP reads programs, peers and limits again.",
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
	log, json, err := logger(c)
	if err != nil {
		return err
	}
	return ending(log, json, serve(c, log))
}

// serve runs the daemon until it is asked to stop, or has to.
func serve(c *ucli.Context, log zerolog.Logger) error {
	// Programs of the same user could trace the daemon, read its memory and environment, or
	// its core, where its keys are (prctl(2)).
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		log.Warn().Err(err).Msg("other processes of this user can look into the daemon")
	}
	conf, err := loadConfig(c)
	if err != nil {
		return err
	}
	if err := notForRoot(conf.Data); err != nil {
		return err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt, syscall.SIGHUP)
	defer signal.Stop(signals)
	reloads := reloads{asked: make(chan chan error), over: make(chan struct{})}
	d, err := daemon.Start(daemon.Options{Config: conf, Log: log, Version: cli.Version(), Reload: reloads.ask})
	if err != nil {
		return err
	}
	systemd := newManager(log)
	quiet := systemd.ready(d.Ready)
	log.Info().Str("listen", cmp.Or(d.Address(), "the socket only")).Str("socket", conf.Socket).Str("data", conf.Data).Msg("ready")
	again := func() error {
		systemd.reloading()
		err := reload(c, d)
		if err != nil {
			log.Error().Err(err).Msg("configuration not taken up: what was configured before goes on")
		}
		systemd.reloaded(err)
		return err
	}
	for {
		select {
		case s := <-signals:
			if s != syscall.SIGHUP {
				quiet()
				close(reloads.over)
				systemd.stopping()
				return outside.stop(d, log, signals, nil)
			}
			_ = again() // the log says it
		case done := <-reloads.asked:
			done <- again()
		case err := <-d.Failed():
			quiet()
			close(reloads.over)
			systemd.stopping()
			return outside.stop(d, log, signals, err)
		}
	}
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
