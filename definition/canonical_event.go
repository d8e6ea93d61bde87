package definition

// What an activity receives and sends, in the canonical form. An event's structure is by its name, as everywhere in it; an event that
// nothing receives or sends changes nothing.

type canonicalReceive struct {
	_      struct{} `cbor:",toarray"`
	Events []canonicalEvent
	Key    string // empty: none
}

type canonicalEvent struct {
	_          struct{} `cbor:",toarray"`
	Name, Type string
}

type canonicalSend struct {
	_     struct{} `cbor:",toarray"`
	Event canonicalEvent
	Key   string // empty: none
	To    string
	Node  string   // an expression; empty: none
	Of    []string // in file order
	Keep  *canonicalMoment
}

func canonicalEventOf(e *Event) canonicalEvent {
	return canonicalEvent{Name: e.Name, Type: e.Type.String()}
}

func canonicalReceiveOf(r *Receive) *canonicalReceive {
	if r == nil {
		return nil
	}
	c := &canonicalReceive{}
	for _, e := range r.Events {
		c.Events = append(c.Events, canonicalEventOf(e))
	}
	if r.Key != nil {
		c.Key = r.Key.Checked.Text
	}
	return c
}

func canonicalSendOf(s *Send) *canonicalSend {
	if s == nil {
		return nil
	}
	c := &canonicalSend{Event: canonicalEventOf(s.Event), To: s.To, Of: s.Of, Keep: canonicalMomentOf(s.Keep)}
	if s.Key != nil {
		c.Key = s.Key.Checked.Text
	}
	if s.ToExpr != nil {
		c.Node = s.ToExpr.Checked.Text
	}
	return c
}

// asWritten is a receive with the text of its key as the file has it.
func (r *Receive) asWritten(written func(*Condition) *Condition) *Receive {
	if r == nil {
		return nil
	}
	w := *r
	w.Key = written(r.Key)
	return &w
}

// asWritten is a send with the texts of its expressions as the file has them.
func (s *Send) asWritten(written func(*Condition) *Condition) *Send {
	if s == nil {
		return nil
	}
	w := *s
	w.Key, w.ToExpr, w.Keep = written(s.Key), written(s.ToExpr), s.Keep.asWritten(written)
	return &w
}
