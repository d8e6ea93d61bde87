package core

import (
	"slices"

	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/queue/record"
)

// Standing is how a link stands between two steps, for people and for who dials.
type Standing struct {
	Established bool
	// Stop is why it is stopped, nil if it is not. Refused: by the peer, so that it is
	// tried again now and then.
	Stop      *frame.Stop
	Refused   bool
	Presented record.Incarnation // the peer's new store, if that is why
	// Hindrance says why not everything goes, although it is established; empty: it does.
	Hindrance string
	Reads     message.Reads // what the peer reads, where it is established
	Lanes     [record.Lanes]LaneStatus
	Repeats   uint64 // items that came and had come before
}

// LaneStatus is where one lane stands.
type LaneStatus struct {
	Next         uint64 // number of the next item to be sent
	Acknowledged uint64 // by the peer, up to here
	Expected     uint64 // number of the next item from the peer
}

// Standing gives the present state of the link.
func (c *Core) Standing() Standing {
	s := Standing{Established: c.established(), Stop: c.stopped, Presented: c.presented, Repeats: c.repeats}
	if s.Stop == nil && c.refusal != nil {
		s.Stop, s.Refused = c.refusal, true
	}
	if s.Stop != nil && c.decisions.waits() { // what the reason tells people to do was done
		s.Stop = &frame.Stop{Code: s.Stop.Code, Node: s.Stop.Node, Reason: reasonGoesOn(c.cfg.Peer), Final: s.Stop.Final}
	}
	if s.Established {
		s.Hindrance, s.Reads = c.hindrance(), c.peer.reads
	}
	for l := range record.Lanes {
		s.Lanes[l] = LaneStatus{Next: c.out[l].next, Acknowledged: c.out[l].base.Number, Expected: c.in[l].received.Number + 1}
	}
	return s
}

func (c *Core) hindered(e Hindered) {
	if t := c.transport(e.Via); t != nil {
		t.hindrance = e.Reason
	}
}

// hindrance says why items wait, here or at the peer, although the conversation is under
// way.
func (c *Core) hindrance() string {
	t := c.best()
	if t == nil {
		return "" // the only way ends just now
	}
	if t.hindrance != "" {
		return t.hindrance
	}
	if t.silent && c.unconfirmed() {
		return "site " + string(c.cfg.Peer) + " has confirmed no message for a while, and no other route to it works: see `fmqm links` there"
	}
	for l := range record.Lanes {
		if u := c.in[l].under; u != nil && u.paused != "" {
			return "this site accepts nothing from site " + string(c.cfg.Peer) + ": " + u.paused
		}
	}
	for l := range record.Lanes {
		if u := c.out[l].unread; u != nil {
			return reasonUnread(c.cfg.Peer, u, &c.peer.reads)
		}
	}
	return ""
}

// unconfirmed says whether the peer has been asked again and again where it stands, and
// nothing has come of it.
func (c *Core) unconfirmed() bool {
	return slices.ContainsFunc(c.out[:], func(s sender) bool { return len(s.sent) > 0 && s.timeout >= lastTimeout })
}
