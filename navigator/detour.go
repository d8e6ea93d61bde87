package navigator

import (
	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// prepareDetours makes of each detour of the table an activity that can only be dead.
func (p *Process) prepareDetours() {
	p.detours = make(map[processtable.ActivityID]*Activity, len(p.table.Detours))
	for _, d := range p.table.Detours {
		row := &processtable.Activity{Name: d.Activity}
		of, _ := p.table.Of(d.Activity)
		for _, to := range d.OutControl {
			node, _ := p.table.NodeOf(processtable.RowID{Name: to, Inside: of.Inside})
			row.OutControl = append(row.OutControl, processtable.OutControl{To: to, Node: node})
		}
		for _, to := range d.OutData {
			node, _ := p.table.NodeOf(processtable.RowID{Name: to, Inside: of.Inside})
			row.OutData = append(row.OutData, processtable.OutData{To: to, Node: node})
		}
		p.detours[d.Activity] = &Activity{Activity: row, process: p, targets: targetsOf(row)}
	}
}

// PassAround says whether the target of m, at another node, is skipped by m alone, and
// may be passed around (R18). Then it gives m as the record that its host gets, and the
// effects of the activity's being dead: what leads out of it, which is to be put in the
// same transaction. To put m as it is is always right too: then its host does this.
func (p *Process) PassAround(m message.Message) (record message.Message, e behaviour.Effects, ok bool) {
	a := p.detours[m.Activity]
	if a == nil || m.Kind != message.KindConnector || !m.Control.IsFalse() || m.Onward {
		return m, behaviour.Effects{}, false
	}
	s := &State{Basis: behaviour.Basis{Entry: m.Entry(), Origin: m.Origin, Trace: m.Trace, Clock: m.Clock}}
	e = behaviour.Effects{Put: a.dead(s), Outcome: behaviour.Outcome{What: behaviour.Passed, Clock: message.Next(s.Clock)}}
	m.OnBehalf, m.Onward = m.Queue.Node, true
	return m, e, true
}

// passOn sends what leads out of a dead activity that has still to wait for data, and
// notes in the message that made it dead that this was done (R18).
func (a *Activity) passOn(s *State) behaviour.Effects {
	record := *s.dead
	record.OnBehalf, record.Onward = a.process.table.Node, true
	return behaviour.Effects{
		Put:     append(a.dead(s), record),
		Outcome: behaviour.Outcome{What: behaviour.Passed, Clock: message.Next(s.Clock)},
	}
}

// die folds what a connector message says of the activity's being dead (R18).
func (s *State) die(a *Activity, m message.Message) {
	switch {
	case m.Onward:
		s.passed, s.dead = true, nil
	case a.diesAlone && m.Control.IsFalse() && !s.passed:
		dead := m // not m itself: every message would be on the heap
		s.dead = &dead
	}
}
