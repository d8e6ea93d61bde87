package main

import (
	"context"
	"time"

	"fmqm/link/amqp"
)

// routes: what it costs that a broker carries the links, beside direct links in the same
// run.
func routes(ctx context.Context, d time.Duration) ([]figure, error) {
	return withBroker(func(b *broker) ([]figure, error) {
		all, err := pairThrough(ctx, b, d)
		if err != nil {
			return nil, err
		}
		more, err := foursThrough(ctx, b, d)
		return append(all, more...), err
	})
}

// idlePeriod is a whole number of the times after which a silent site is asked for.
const idlePeriod = 2 * amqp.PingEvery

// pairThrough: the chain over two nodes that do nothing else, and then a link without
// anything to carry.
func pairThrough(ctx context.Context, b *broker, d time.Duration) ([]figure, error) {
	two := []string{"A", "B"}
	var straight, took time.Duration
	var idle load
	times := func(fl *fleet) (t time.Duration, err error) { return fl.sites[0].times(ctx, chainOf(0), d) }
	err := onFleet(ctx, two, nil, func(fl *fleet) (err error) {
		straight, err = times(fl)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = onFleet(ctx, two, b, func(fl *fleet) (err error) {
		if took, err = times(fl); err != nil {
			return err
		}
		before := fl.load(b)
		<-time.After(idlePeriod)
		idle = fl.load(b).since(before)
		return nil
	})
	if err != nil {
		return nil, err
	}
	minute := func(f float64) float64 { return f * float64(time.Minute) / float64(idlePeriod) }
	return []figure{
		(figure{Name: "chain of 10 over two idle nodes through RabbitMQ", Value: micros(took), Unit: "µs"}).against("µs over direct links", micros(straight)),
		{Name: "idle link through RabbitMQ: messages at the broker", Value: minute(idle.sent), Unit: "a minute"},
		{Name: "  CPU of the two sites", Value: minute(micros(idle.cpu) / 1e3), Unit: "ms a minute"},
		{Name: "  CPU of the broker", Value: minute(micros(idle.server) / 1e3), Unit: "ms a minute"},
	}, nil
}

const fleetInstances = 512

// foursThrough: instances that go around four sites, whose links are direct or go through
// the broker.
func foursThrough(ctx context.Context, b *broker, d time.Duration) ([]figure, error) {
	direct, straight, err := around(ctx, nil, d)
	if err != nil {
		return nil, err
	}
	rate, did, err := around(ctx, b, d)
	if err != nil {
		return nil, err
	}
	size := did.bytes / did.sent
	bare, err := b.bareRate(len(fourSites), int(size), d)
	if err != nil {
		return nil, err
	}
	each := func(t time.Duration, l load) float64 { return micros(t) / l.messages }
	return []figure{
		{Name: "512 in flight over four sites, direct", Value: direct, Unit: "terminations/s"},
		(figure{Name: "512 in flight over four sites, through RabbitMQ", Value: rate, Unit: "terminations/s", Goal: "at least 0.7"}).against("terminations/s over direct links", direct),
		{Name: "  messages at the broker for one of the engine", Value: did.sent / did.messages, Unit: "", Goal: "far below 1"},
		{Name: "  bytes of one at the broker", Value: size, Unit: "bytes"},
		(figure{Name: "  published", Value: did.sent / d.Seconds(), Unit: "messages/s"}).against("messages/s of this size, bare client", bare),
		(figure{Name: "  CPU of one message, the sites", Value: each(did.cpu, did), Unit: "µs"}).against("µs over direct links", each(straight.cpu, straight)),
		{Name: "  CPU of one message, the broker", Value: each(did.server, did), Unit: "µs"},
	}, nil
}

var fourSites = []string{"A", "B", "C", "D"}

// around runs the instances over four sites, and gives the terminations a second, and
// what was done for them.
func around(ctx context.Context, through *broker, d time.Duration) (rate float64, did load, err error) {
	err = onFleet(ctx, fourSites, through, func(fl *fleet) (err error) {
		before := fl.load(through)
		rate, err = fl.instances(ctx, fleetInstances, d)
		did = fl.load(through).since(before)
		return err
	})
	return rate, did, err
}
