package link

import "slices"

// hindrance says why not everything goes over a link that is connected; empty: it does.
func (l *Link) hindrance() string {
	t := l.core.best()
	if t == nil {
		return "" // the only way ends just now
	}
	if p := l.pipes[t.via]; p != nil && p.hindrance != "" {
		return p.hindrance
	}
	if l.core.unconfirmed() && t.silent {
		return "site " + string(l.o.Peer) + " has confirmed nothing of what is sent for a while, and no other way to it works: see `fmqm links` there"
	}
	return l.core.Hindrance()
}

// Hindrance says why items wait, here or at the peer, although the conversation is under
// way; empty if none does.
func (c *Core) Hindrance() string {
	if !c.peer.up {
		return ""
	}
	for l := range Lanes {
		if u := c.in[l].under; u != nil && u.paused != "" {
			return "nothing more is taken from site " + string(c.cfg.Peer) + " for now: " + u.paused
		}
		if u := c.out[l].unread; u != nil {
			return reasonUnread(c.cfg.Peer, u)
		}
	}
	return ""
}

// unconfirmed says whether the peer has been asked again and again where it stands, and
// nothing has come of it.
func (c *Core) unconfirmed() bool {
	return slices.ContainsFunc(c.out[:], func(s sender) bool { return len(s.sent) > 0 && s.patience >= lastPatience })
}
