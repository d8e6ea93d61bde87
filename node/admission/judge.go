package admission

import (
	"fmt"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// refuses says why peer may not send a message of a process of which the table is here, or
// nothing.
func (a *Admission) refuses(peer processtable.NodeID, p behaviour.Process, m *message.Message) (string, error) {
	if reason := p.Refuses(peer, &m.Header); reason != "" {
		return reason, nil
	}
	switch m.Kind {
	case message.KindNotice:
		if m.Activity != processtable.Sink || m.Scope != "" { // it is for a bundle, which need not be at the origin (N21)
			return "", nil
		}
		return a.strayNotice(m)
	case message.KindMarker:
		return a.usurped(peer, m)
	case message.KindMark:
		_, reason, err := a.strayMark(peer, m)
		return reason, err
	default:
		return "", nil
	}
}

// Misplaced says why a message that was set aside as peer brought it is not taken when an operator
// delivers it again, or nothing. A process table, a word and an answer are not for it to judge.
func (a *Admission) Misplaced(peer processtable.NodeID, m *message.Message) (string, error) {
	if reason := impossible(a.Self, m.Lane, &m.Header); reason != "" {
		return reason, nil
	}
	p := a.Site.Process(m.Queue.Process)
	if p == nil {
		return "", nil // it waits for its table
	}
	reason, err := a.refuses(peer, p, m)
	switch {
	case err != nil || reason != "" || !m.Kind.OfInstance():
		return reason, err
	case m.Kind == message.KindMark:
		_, reason, _, err = a.markAgain(m)
		return reason, err
	}
	there, err := a.Queue.Marker(m.Queue.Process, m.Instance)
	if err != nil || there == nil {
		return "", err
	}
	return a.otherMarker(m, there)
}

// strayNotice says why a notice is not taken, or nothing. It is for an instance that was started
// here, where its record waits at sink; without one it would lie there for ever, and count for
// nobody's quota. A store that is not this site's first may not know an instance yet that its
// client will start again (S4).
func (a *Admission) strayNotice(m *message.Message) (string, error) {
	if a.Site.Anew() {
		return "", nil
	}
	started, found, err := a.Queue.Ended(message.Entry{Instance: m.Instance, Activity: processtable.Source})
	if err != nil || found && started.Process == m.Queue.Process {
		return "", err
	}
	return fmt.Sprintf("it tells of an error in an instance of %s that was started at %s, but %s did not start it", m.Queue.Process, a.Self, a.Self), nil
}

// usurped says why a marker that a peer has brought is not taken, or nothing. Who ends an
// instance is decided where it was started. From another site a marker comes only where that
// runs an older version, and nobody proves who wanted it.
func (a *Admission) usurped(peer processtable.NodeID, m *message.Message) (string, error) {
	if peer != m.Origin && !a.Commands.Takes(peer, "") {
		return fmt.Sprintf("%s wants to end an instance that was started at %s: terminate it there, or let `remote_operators` here take what %s asks without naming an operator", peer, m.Origin, peer), nil
	}
	switch known, err := a.startedAt(m); {
	case err != nil:
		return "", err
	case known != "" && known != m.Origin:
		return fmt.Sprintf("it says that its instance was started at %s, but it was started at %s", m.Origin, known), nil
	case known == "" && m.Origin == a.Self:
		return fmt.Sprintf("it says that its instance was started at %s, but %s did not start it", a.Self, a.Self), nil
	}
	return "", nil
}

// otherMarker says why a marker is not put in the place of one that names another origin, or
// nothing. Until something else of the instance has come nobody here knows which is right:
// the first is not pushed aside by a guess, and the second is not lost if the first was one.
func (a *Admission) otherMarker(m, there *message.Message) (string, error) {
	if there.Origin == m.Origin {
		return "", nil
	}
	if known, err := a.startedAt(m); err != nil || known == m.Origin {
		return "", err
	}
	return fmt.Sprintf("it says that its instance was started at %s, and a marker that came before says at %s: retry it once something of the instance has come", m.Origin, there.Origin), nil
}

// startedAt is where the instance of a message was started, as far as that is known here without
// the word of a marker.
func (a *Admission) startedAt(m *message.Message) (processtable.NodeID, error) {
	return a.Queue.StartedAt(m.Instance, m.Queue.Process)
}
