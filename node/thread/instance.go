package thread

import (
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/queue/record"
)

// roll asks for the entries of an instance, to end them for its marker, to tell them of its marks, or to go
// on with them once it is started. What comes afterwards finds that itself.
type roll struct {
	marker  *message.Message
	heeding *heeding // its marks
}

func (m *Machine) list(id message.InstanceID, r *roll) {
	token := m.next()
	m.rolls[token] = r
	m.do(List{token, id})
}

// stopInstance ends every entry of a terminated instance (N7), once the mail was read: what came
// with the marker is a part of what they end with (invariant 3). The marker is in the store: what
// arrives later finds it there.
func (m *Machine) stopInstance(marker message.Message) {
	id := marker.Instance
	m.lives.mark(id)
	if s := m.starting[id]; s != nil {
		s.marked = true
	}
	for key, a := range m.arriving {
		if key.Instance == id {
			a.marker = &marker
		}
	}
	for _, g := range m.gathers {
		g.spoil(func(key message.Entry) bool { return key.Instance == id })
	}
	m.stopping = append(m.stopping, marker)
}

// stopInstances asks for the entries of the instances whose markers have come.
func (m *Machine) stopInstances() {
	stopping := m.stopping
	m.stopping = nil
	for i := range stopping {
		m.list(stopping[i].Instance, &roll{marker: &stopping[i]})
	}
}

// goesOn takes up what has waited for a begin, which is in the store.
func (m *Machine) goesOn(id birth) {
	awaited := m.starts.awaited(id)
	m.starts.begun(id)
	if awaited {
		m.list(id.instance, &roll{})
	}
}

func (m *Machine) listed(e Listed) {
	r, found := m.rolls[e.Token]
	if !found {
		return
	}
	delete(m.rolls, e.Token)
	for _, key := range e.Entries {
		r.call(m, key)
	}
	if r.heeding != nil {
		m.called(r.heeding)
	}
}

func (r *roll) call(m *Machine, key message.Entry) {
	e := m.table.Get(key)
	switch {
	case r.heeding != nil:
		r.heeding.call(m, key, e)
	case e == nil:
		m.takeUp(key) // it finds the marker itself
	case r.marker != nil:
		e.Known.Stop(*r.marker)
		m.consider(e)
	case e.Phase == instancetable.Waiting:
		m.consider(e)
	}
}

// takeUp reads an entry that is not in memory.
func (m *Machine) takeUp(key message.Entry) { m.arrive(record.Delivery{Entry: key}, nil) }
