package config

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v4"

	"fmqm/processtable"
)

// Bounds of what the configuration says of events.
const (
	minKeep   = time.Minute
	maxKeep   = 10 * 366 * day
	maxEvents = 10_000_000
)

// Events says how events are kept (N24).
type Events struct {
	Keep  time.Duration // unless who sends one says so; 0: 7 days
	Limit int           // how many may be; 0: 100,000
	// From are the peers whose events are taken; nil: all.
	From []processtable.NodeID
}

func (r *reader) events(n *yaml.Node, c *Config) {
	r.mapping(n, "events", map[string]func(k, v *yaml.Node){
		"keep": func(_, v *yaml.Node) { r.keep(v, &c.Events.Keep) },
		"limit": func(_, v *yaml.Node) {
			r.count(v, "limit", "how many events are kept here", maxEvents, &c.Events.Limit)
		},
	})
}

func (r *reader) keep(n *yaml.Node, into *time.Duration) {
	const want = "how long events are kept, such as 7d or 12h"
	s, ok := r.scalar(n, want)
	if !ok {
		return
	}
	keep, err := parseAge(s)
	switch {
	case err != nil:
		r.add(n, fmt.Sprintf("%q is not a duration", s), "write "+want)
	case keep < minKeep || keep > maxKeep:
		r.add(n, s+" is out of range", "write a duration from 1m to "+ageText(maxKeep))
	default:
		*into = keep
	}
}

// accept reads what is taken from peers.
func (r *reader) accept(n *yaml.Node, c *Config) {
	r.mapping(n, "accept", map[string]func(k, v *yaml.Node){
		"events": func(_, v *yaml.Node) {
			c.Events.From = []processtable.NodeID{}
			r.list(v, "events", "NAME of a peer", func(item *yaml.Node, s string) {
				if !processtable.ValidNode(s) {
					r.add(item, fmt.Sprintf("%q cannot name a site", s), "use letters, digits, _ and -, as in links.peers")
					return
				}
				c.Events.From = append(c.Events.From, processtable.NodeID(s))
			})
		},
	})
}
