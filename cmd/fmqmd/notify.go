package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"fmqm/api"
)

// statusEvery is how often systemd is told how the daemon is, where it has no watchdog.
const statusEvery = 10 * time.Second

// manager is the service manager that started the daemon (sd_notify(3)), if one did:
// else nothing is said. Its methods are safe for concurrent use.
type manager struct {
	say func(lines ...string)
	log zerolog.Logger
}

func newManager(log zerolog.Logger) *manager {
	return &manager{log: log, say: func(lines ...string) {
		if _, err := daemon.SdNotify(false, strings.Join(lines, "\n")); err != nil {
			log.Warn().Err(err).Msg("systemd cannot be told of the daemon's state")
		}
	}}
}

// ready says that the listeners are up, and begins to say that the daemon lives. It
// does so until stop is called.
func (m *manager) ready(live func(context.Context) api.Health) (stop func()) {
	m.say(daemon.SdNotifyReady, "STATUS=running")
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return func() {}
	}
	every := statusEvery
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		m.log.Warn().Err(err).Msg("the watchdog's interval cannot be read: it is not fed")
	}
	if limit > 0 {
		every = limit / 3
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				m.beat(ctx, every, live)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// beat feeds the watchdog, but only if the daemon does its work: if it hangs, systemd is
// to start it again.
func (m *manager) beat(ctx context.Context, patience time.Duration, live func(context.Context) api.Health) {
	asked, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h := live(asked)
	if ctx.Err() != nil {
		return // the daemon is stopping
	}
	text := status(h)
	if h.State == api.HealthFailed {
		m.say("STATUS=" + text)
		m.log.Error().Str("reason", text).Msg("the node does not answer: the watchdog is not fed")
		return
	}
	m.say(daemon.SdNotifyWatchdog, "STATUS="+text)
}

// status says in a line what is not as it should be.
func status(h api.Health) string {
	var bad []string
	for _, c := range h.Checks {
		if c.State != api.HealthOK {
			bad = append(bad, c.Name+": "+c.Reason)
		}
	}
	if len(bad) == 0 {
		return "running"
	}
	return fmt.Sprintf("%s: %s", h.State, strings.ReplaceAll(strings.Join(bad, "; "), "\n", " "))
}

// reloading says that the configuration is being read again, and reloaded that it was.
func (m *manager) reloading() {
	lines := []string{daemon.SdNotifyReloading}
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) == nil {
		lines = append(lines, fmt.Sprintf("MONOTONIC_USEC=%d", now.Nano()/1000))
	}
	m.say(lines...)
}

func (m *manager) reloaded(err error) {
	status := "STATUS=running"
	if err != nil {
		status = "STATUS=the last configuration was not taken up: see the log"
	}
	m.say(daemon.SdNotifyReady, status)
}

func (m *manager) stopping() { m.say(daemon.SdNotifyStopping, "STATUS=stopping") }
