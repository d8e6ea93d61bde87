package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"

	"fmqm/api"
	"fmqm/node/config"
)

// flooded says that a connection was not taken, once for each who and why.
func (d *Daemon) flooded(remote, reason string) {
	if d.told.news("connections of "+remote, reason) {
		d.log.Warn().Str("remote", remote).Str("reason", reason).Msg("connection refused")
	}
}

// listen opens the port of the configuration; nil if it has none. With an identity it
// speaks TLS and nothing else, on loopback too: every user of this machine can reach it.
func (d *Daemon) listen(c *config.Config) (net.Listener, error) {
	if c.Listen == "" {
		return nil, nil
	}
	l, err := UntilFree(func() (net.Listener, error) { return net.Listen("tcp", c.Listen) })
	if err != nil {
		return nil, fmt.Errorf("listen: %w: %s", err, listenRemedy(err))
	}
	d.address = l.Addr().String()
	l = bounded(l, portConnections(), maxPerAddress, d.flooded)
	if d.identity != nil {
		l = tls.NewListener(l, d.identity.Server())
	}
	return l, nil
}

// listenWork opens the socket of the staff; nil if the configuration has none. Everybody on this machine may
// open it: the kernel says who it is.
func listenWork(c *config.Config) (net.Listener, error) {
	if workSocket(c) == "" {
		return nil, nil
	}
	l, err := UntilFree(func() (net.Listener, error) { return api.ListenSocketMode(c.Staff.Socket, 0o666) })
	if err != nil {
		return nil, fmt.Errorf("staff: %w", err)
	}
	return l, nil
}

// listenRemedy says what to do about an address that cannot be listened on.
func listenRemedy(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "set `listen` to an address of this machine, or to 0.0.0.0 for all of them"
	case errors.Is(err, syscall.EACCES):
		return "set `listen` to a port from 1024 on: those below are for root"
	}
	return "stop what listens there, or set `listen` to another address"
}
