package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"fmqm/identity"
	"fmqm/node/config"
)

// Reload takes up programs and peers of a configuration that was read again. What can
// only change with a restart is named in the log and left as it is. After an error all is
// as it was.
func (d *Daemon) Reload(c *config.Config) error {
	err := d.reload(c)
	d.metrics.configured(err)
	return err
}

// ReloadFailed notes that a configuration could not even be read.
func (d *Daemon) ReloadFailed(err error) { d.metrics.configured(err) }

func (d *Daemon) reload(file *config.Config) error {
	if d.identity == nil && file.Identity != nil {
		return errors.New("identity: this daemon started without one: restart it")
	}
	c, fixed := carriedOver(d.config.Load(), file)
	if err := d.checkExtra(c); err != nil {
		return err
	}
	registry, err := d.register(c)
	if err != nil {
		return err
	}
	links, err := newLinks(c, d.identity, d.links, d.log, d.stranger)
	renewed := false
	if err == nil && file.Identity != nil {
		renewed, err = d.reloadIdentity(c) // last: it takes effect at once
	}
	if err != nil {
		registry.Close()
		return err
	}
	for _, f := range fixed {
		d.log.Warn().Str("key", f.key).Str("now", f.now).Str("file", f.file).Msg("this change needs a restart")
	}
	d.broker.Store(links.broker)
	d.Node.Configure(registry, links.ways, limits(c))
	if err := d.links.stop(context.Background(), links); err != nil {
		d.log.Warn().Err(err).Msg("the connection to the former broker did not end as it should")
	}
	if renewed && links.broker != nil {
		links.broker.Renew()
	}
	links.start(d.links) // now: it would take the one before for a second daemon of this name
	d.links = links
	d.Node.SetDefiners(definers(c))
	d.Node.SetRemoteOperators(remoteOperators(c))
	d.config.Store(c)
	d.reloadStaff(c)
	d.askers.keep(func(name identity.Name) bool { return d.mayAsk(c, name) })
	d.registry.Close()
	d.registry = registry
	return nil
}

// fixed is a key that the file has otherwise than the daemon, and that needs a restart.
type fixed struct{ key, now, file string }

// carriedOver gives the configuration of a file as a running daemon can take it up: what
// needs a restart is what it is. All that is derived from it goes by that: the fence
// around the store and the keys, and whose tables are taken.
func carriedOver(running, file *config.Config) (*config.Config, []fixed) {
	var all []fixed
	for _, f := range []fixed{
		{"node", string(running.Node), string(file.Node)},
		{"data", running.Data, file.Data},
		{"listen", running.Listen, file.Listen},
		{"socket", running.Socket, file.Socket},
		{"store", running.Store, file.Store},
		{"identity", present(running.Identity != nil), present(file.Identity != nil)},
		{"staff.socket", workSocket(running), workSocket(file)},
		{"limits.free, stop or reserve", marks(running), marks(file)},
	} {
		if f.now != f.file {
			all = append(all, f)
		}
	}
	c := *file
	c.Node, c.Data, c.Listen, c.Socket, c.Store = running.Node, running.Data, running.Listen, running.Socket, running.Store
	c.Limits.Free, c.Limits.Stop, c.Limits.Reserve = running.Limits.Free, running.Limits.Stop, running.Limits.Reserve
	if c.Identity == nil && running.Identity != nil {
		// A file without an identity can have no operators: that is no word that all may ask.
		c.Identity, c.Operators = running.Identity, running.Operators
	}
	c.Staff = carriedStaff(running, file)
	if _, itself := c.Peers[c.Node]; itself { // so far it is not the node that the file names
		c.Peers = maps.Clone(c.Peers)
		delete(c.Peers, c.Node)
	}
	return &c, all
}

// carriedStaff gives the staff of a file as a running daemon can take it up: its socket is there
// until a restart, whatever the file says, and a staff that was read as another node's is not this one's.
func carriedStaff(running, file *config.Config) *config.Staff {
	socket := workSocket(running)
	switch {
	case file.Staff != nil && running.Node != file.Node:
		return running.Staff
	case file.Staff != nil:
		return &config.Staff{File: file.Staff.File, Socket: socket, LDAP: file.Staff.LDAP, People: file.Staff.People}
	case socket != "":
		return &config.Staff{Socket: socket}
	}
	return nil
}

func workSocket(c *config.Config) string {
	if c.Staff == nil {
		return ""
	}
	return c.Staff.Socket
}

func marks(c *config.Config) string {
	return fmt.Sprint(c.Limits.Free, c.Limits.Stop, c.Limits.Reserve)
}

func present(is bool) string {
	if is {
		return "there is one"
	}
	return "none"
}
