package amqp

import (
	"time"

	"fmqm/link/seal"
	"fmqm/processtable"
)

// A node of which nobody here has asked to be reached may call: its first message is the
// hello of a session. It is a stranger until it has proved who it is, and until then there
// is no more of it here than a handshake, for some seconds, and at most maxStrangers at a
// time: whoever may write to the queue can write any name.
const (
	maxStrangers = 64
	// strangerLife is how long a stranger stays; strangerGrace how long one may be sure of
	// that while others wait for its place.
	strangerLife  = Silence
	strangerGrace = time.Second
	// strangerPatience is how long this node may take to ask for one that has proved who it
	// is, before that is told that nobody does.
	strangerPatience = 5 * time.Second
	// quietAfter is how long all must be well with strangers before the log has another line.
	quietAfter = 10 * time.Minute
)

// strangers are those who call and were not asked for.
type strangers struct {
	present   map[processtable.NodeID]*stranger
	suspected time.Time // when one last did not prove who it is; zero: never
}

type stranger struct {
	p    *peer
	came time.Time
	stop func() bool // its end
}

// stranger gives the stranger that a message is from; nil if it is not heard.
func (b *Broker) stranger(id processtable.NodeID, body []byte) *peer {
	if b.o.Unknown == nil || id == b.o.Self {
		return nil
	}
	b.mu.Lock()
	s := b.strangers.present[id]
	if s != nil || b.ctx.Err() != nil || !seal.IsHello(body) {
		b.mu.Unlock()
		if s == nil {
			return nil
		}
		return s.p
	}
	out, room := b.makeRoom()
	var p *peer
	if room {
		p = newPeer(b, id)
		p.stranger.Store(true)
		s = &stranger{p: p, came: b.o.Clock.Now()}
		s.stop = b.o.Clock.AfterFunc(strangerLife, func() { b.dismiss(s) })
		b.strangers.present[id] = s
		b.spawn(p.run)
	}
	b.mu.Unlock()
	if out != nil {
		b.dismiss(out)
	}
	if p == nil {
		b.suspect(id, "too many call at once")
	}
	return p
}

// makeRoom says whether there is room for another stranger, and who has to go for it: the one
// that has been there longest, whether or not it has proved who it is: one that goes too early
// calls again. It is called with the lock.
func (b *Broker) makeRoom() (out *stranger, room bool) {
	if len(b.strangers.present) < maxStrangers {
		return nil, true
	}
	for _, s := range b.strangers.present {
		if out == nil || s.came.Before(out.came) {
			out = s
		}
	}
	if b.o.Clock.Now().Sub(out.came) < strangerGrace {
		return nil, false
	}
	return out, true
}

// dismiss lets go of a stranger, unless it was asked for meanwhile.
func (b *Broker) dismiss(s *stranger) {
	b.mu.Lock()
	mine := b.strangers.present[s.p.id] == s
	if mine {
		delete(b.strangers.present, s.p.id)
	}
	b.mu.Unlock()
	s.stop()
	if !mine {
		return
	}
	s.p.mu.Lock()
	proved, why := !s.p.proved.IsZero(), s.p.refusal
	s.p.mu.Unlock()
	s.p.end()
	if !proved && b.ctx.Err() == nil {
		b.suspect(s.p.id, why)
	}
}

// promote makes a stranger a peer like any other, because a link to its name is asked for, and
// gives it; nil if there is no such stranger. It is called with the lock.
func (b *Broker) promote(id processtable.NodeID) *peer {
	s := b.strangers.present[id]
	if s == nil {
		return nil
	}
	delete(b.strangers.present, id)
	s.stop()
	s.p.stranger.Store(false)
	return s.p
}

// introduce tells of a stranger that has proved who it is; without certificates nobody
// has, though the handshake was right.
func (b *Broker) introduce(id processtable.NodeID) {
	if b.o.Identity == nil {
		b.suspect(id, "without an identity anybody can pose as any site")
		return
	}
	b.o.Unknown(id)
}

// suspect logs that names come that nobody proves: once, until all was well for long.
func (b *Broker) suspect(id processtable.NodeID, why string) {
	now := b.o.Clock.Now()
	b.mu.Lock()
	last := b.strangers.suspected
	b.strangers.suspected = now
	b.mu.Unlock()
	if !last.IsZero() && now.Sub(last) < quietAfter {
		return
	}
	if why == "" {
		why = "no answer to the handshake"
	}
	b.o.Log.Warn().Str("peer", string(id)).Str("reason", why).Str("queue", b.target.queue).
		Msg("an unknown site calls through the broker and has not proved who it is: nothing of it is kept, nor of others like it")
}

// turnAway tells a stranger that nobody here has asked for it, though it has proved who it
// is; it is called with the lock.
func (p *peer) turnAway(kind byte) {
	if kind != kindLeave && !p.proved.IsZero() && p.b.o.Clock.Now().Sub(p.proved) >= strangerPatience && len(p.answers) == 0 {
		p.answer(kindLeave)
	}
}
