package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	"fmqm/internal/rabbittest"
	"fmqm/link"
	"fmqm/link/amqp"
	"fmqm/node"
	"fmqm/processtable"
)

// fleet is some sites that all know each other, linked directly or through a broker.
type fleet struct {
	sites   []*site
	brokers []*amqp.Broker // what each site has of the broker; nil: directly
}

// onFleet runs f on sites of these names. The chain goes over all of them in turn, and
// each site has one of its own that begins and ends there. Through is nil for direct
// links.
func onFleet(ctx context.Context, names []string, through *broker, f func(*fleet) error) error {
	_, err := inDirectory(func(dir string) (struct{}, error) {
		fl, err := openFleet(ctx, dir, names, through)
		if err == nil {
			err = fl.meet(ctx)
		}
		if err == nil {
			err = f(fl)
		}
		return struct{}{}, errors.Join(err, fl.stop(ctx))
	})
	return err
}

func openFleet(ctx context.Context, dir string, names []string, through *broker) (*fleet, error) {
	fl := &fleet{}
	way, listeners, err := fl.ways(dir, names, through)
	if err != nil {
		return fl, err
	}
	for i, name := range names {
		others := peers{}
		for j, other := range names {
			if i != j {
				others[processtable.NodeID(other)] = way(i, j)
			}
		}
		s, err := openSite(dir, name, others)
		if err != nil {
			return fl, err
		}
		fl.sites = append(fl.sites, s)
		if listeners != nil {
			s.serve(listeners[i])
		}
		own := append(append([]string{}, names[i:]...), names[:i]...)
		if err := s.upload(ctx, renamed(chain(own...), chainOf(i))); err != nil {
			return fl, err
		}
	}
	return fl, nil
}

// chainOf is the process that begins at the site of a number.
func chainOf(i int) string { return "bench" + string(rune('a'+i)) }

// ways gives how one site reaches another.
func (fl *fleet) ways(dir string, names []string, through *broker) (func(from, to int) node.Peer, []net.Listener, error) {
	if through != nil {
		return fl.waysThrough(dir, names, through)
	}
	listeners, all := make([]net.Listener, len(names)), make([]node.Peer, len(names))
	for i := range names {
		var err error
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, nil, err
		}
		if all[i], err = direct(listeners[i].Addr().String()); err != nil {
			return nil, nil, err
		}
	}
	return func(_, to int) node.Peer { return all[to] }, listeners, nil
}

func (fl *fleet) waysThrough(dir string, names []string, through *broker) (func(from, to int) node.Peer, []net.Listener, error) {
	url, err := through.host()
	if err != nil {
		return nil, nil, err
	}
	secret := filepath.Join(dir, "password")
	if err := os.WriteFile(secret, []byte(rabbittest.Password), 0o600); err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		b, err := amqp.New(amqp.Options{Self: processtable.NodeID(name), URL: url, User: rabbittest.User, PasswordFile: secret})
		if err != nil {
			return nil, nil, err
		}
		b.Start()
		fl.brokers = append(fl.brokers, b)
	}
	return func(from, to int) node.Peer {
		b := fl.brokers[from]
		return node.Peer{Routes: []link.Route{{Name: link.RouteAMQP, Dialer: b.Dialer(processtable.NodeID(names[to])), Address: b.Address()}}}
	}, nil, nil
}

// meet runs an instance of each chain: all links are up then, and all tables there.
func (fl *fleet) meet(ctx context.Context) error {
	for i, s := range fl.sites {
		if err := s.named(ctx, chainOf(i)); err != nil {
			return err
		}
	}
	return nil
}

func (fl *fleet) stop(ctx context.Context) error {
	var all []error
	for _, s := range fl.sites {
		all = append(all, s.stop(ctx))
	}
	for _, b := range fl.brokers {
		all = append(all, b.Stop(ctx))
	}
	return errors.Join(all...)
}

// instances runs n instances at once for d, each site its part of them, and gives the
// activities that ended a second at all sites.
func (fl *fleet) instances(ctx context.Context, n int, d time.Duration) (float64, error) {
	rates, errs := make(chan float64, len(fl.sites)), make(chan error, len(fl.sites))
	for i, s := range fl.sites {
		go func() {
			rate, err := s.instances(ctx, chainOf(i), n/len(fl.sites), d)
			rates <- rate
			errs <- err
		}()
	}
	total, err := 0.0, error(nil)
	for range fl.sites {
		total += <-rates
		err = errors.Join(err, <-errs)
	}
	return total, err
}

// load is what a fleet has done: counters that only grow.
type load struct {
	cpu      time.Duration // of this process
	server   time.Duration // of the broker's process
	messages float64       // of the engine, from site to site
	sent     float64       // messages given to the broker
	bytes    float64       // of these
}

func (fl *fleet) load(through *broker) load {
	l := load{cpu: cpuTime()}
	if through != nil {
		l.server = through.cpu()
	}
	for _, b := range fl.brokers {
		s := b.Status()
		l.sent += float64(s.Published)
		l.bytes += float64(s.PublishedBytes)
	}
	for _, s := range fl.sites {
		answer, err := s.node.Links(context.Background())
		if err != nil {
			continue
		}
		for _, link := range answer.Links {
			for _, lane := range link.Lanes {
				l.messages += float64(lane.Next)
			}
		}
	}
	return l
}

func (l load) since(before load) load {
	return load{
		cpu: l.cpu - before.cpu, server: l.server - before.server,
		messages: l.messages - before.messages, sent: l.sent - before.sent, bytes: l.bytes - before.bytes,
	}
}
