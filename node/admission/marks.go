package admission

import (
	"fmt"
	"slices"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

const (
	// marksLimit is how many marks of one instance lie here at most.
	marksLimit = 1000
	// marksOfUse is how many of them are charged to nobody where the instance is known here.
	marksOfUse = 10
)

var tooManyMarks = fmt.Sprintf("its instance was suspended and resumed %d times: no more is taken", marksLimit/2)

// mark takes a mark that a peer has brought (N29). The first few of an instance that has come here are of use, as all else that has
// come of it: they are not charged to the peer, whose link would be paused once an operator there had suspended many instances often.
func (a *acceptance) mark(p behaviour.Process, m message.Message, encoded []byte) error {
	known, reason := false, p.Refuses(a.peer, &m.Header)
	var err error
	if reason == "" {
		known, reason, err = a.strayMark(a.peer, &m)
	}
	there, repeat := 0, false
	if reason == "" && err == nil {
		there, reason, repeat, err = a.markBefore(&m)
		there += a.marks[m.Instance]
	}
	if reason == "" && !repeat && there >= marksLimit { // with those of the same batch
		reason = tooManyMarks
	}
	switch {
	case err != nil:
		return err
	case reason != "":
		a.aside(encoded, reason)
	case !repeat:
		if m = settled(p.Table(), m); known && there < marksOfUse {
			m.From = ""
		}
		if a.marks == nil {
			a.marks = map[message.InstanceID]int{}
		}
		a.marks[m.Instance]++
		a.tx.Put = append(a.tx.Put, m)
	}
	return nil
}

// strayMark says why a mark that a peer has brought is not taken, or nothing: only the node suspends an instance
// where that was started, and it says so for this one alone (N29). Known: something of the instance has come.
func (a *Admission) strayMark(peer processtable.NodeID, m *message.Message) (known bool, reason string, err error) {
	mark, err := message.MarkOf(m)
	switch {
	case err != nil:
		return false, fmt.Sprintf("it suspends or resumes, and cannot be read: %v", err), nil
	case peer != m.Origin || m.Origin == a.Self:
		return false, fmt.Sprintf("%s suspends or resumes an instance that was started at %s: that is for %s to say", peer, m.Origin, m.Origin), nil
	case !mark.New || mark.Spread:
		return false, "it says that it was acted on here, or is for others", nil
	}
	origin, err := a.startedAt(m)
	if err != nil || origin != "" && origin != m.Origin {
		return false, fmt.Sprintf("it says that its instance was started at %s, but it was started at %s", m.Origin, origin), err
	}
	return origin != "", "", nil
}

// settled gives a mark that was judged as one that was acted on, where there is nothing to do about it.
func settled(t *processtable.Table, m message.Message) message.Message {
	mark, err := message.MarkOf(&m)
	if err != nil || !mark.Settled(t) {
		return m
	}
	m.Body = message.EncodeMark(mark.Done())
	return m
}

// markBefore says whether a mark repeats one that lies here, or that the transaction puts, of which the first counts: a node that was
// restored sends what it has sent; or why it is not taken; and how many lie here.
func (t *taking) markBefore(m *message.Message) (there int, reason string, repeat bool, err error) {
	put, _, err := t.claim(arrivalOf(m))
	if err != nil || put != nil {
		return 0, "", put != nil, err
	}
	return t.markAgain(m)
}

// markAgain is markBefore of what is on disk.
func (a *Admission) markAgain(m *message.Message) (there int, reason string, repeat bool, err error) {
	found, err := a.Queue.Marks(m.Queue.Process, m.Instance)
	switch {
	case err != nil:
		return 0, "", false, err
	case slices.ContainsFunc(found, func(b message.Message) bool { return b.Key() == m.Key() }):
		return len(found), "", true, nil
	case len(found) >= marksLimit:
		return len(found), tooManyMarks, false, nil
	}
	return len(found), "", false, nil
}
