package navigator

import (
	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/message"
	"fmqm/processtable"
)

// saysEnds says whether control connectors say how their activities have ended (R28).
func saysEnds(t *processtable.Table) bool { return t.Format >= processtable.ModelFormat }

// truth is that of a connector out of the activity, which has ended so.
func (a *Activity) truth(holds bool, r *behaviour.Result) message.Truth {
	t := message.TruthOf(holds)
	if saysEnds(a.process.table) && !byItself(r) {
		return t.Failed()
	}
	return t
}

// dead is the truth of what leads out of an activity that does not run (R3).
func dead(t *processtable.Table) message.Truth {
	if saysEnds(t) {
		return message.FalseSkipped
	}
	return message.False
}

// contradicts says why a message cannot be right about how its source has ended, or nothing.
func (p *Process) contradicts(m *message.Message) string {
	switch ends := m.Control > message.True; {
	case ends && !saysEnds(p.table):
		return "it says how that has ended, which the table does not allow"
	case m.Control == message.FalseSkipped && m.Data > message.DataAbsent:
		return "it says that this did not run, and brings data of it"
	case (m.Control == message.FalseFailed || m.Control == message.TrueFailed) && m.Data != message.DataNone && m.Data != message.DataWords:
		return "it says that this has failed, and not what is left then"
	}
	return ""
}

// connectors are the states of control connectors as start conditions know them.
var connectors = [...]condition.Connector{
	message.False: condition.ConnectorFalse, message.True: condition.ConnectorTrue,
	message.FalseSkipped: condition.ConnectorSkipped, message.FalseFailed: condition.ConnectorFailed, message.TrueFailed: condition.ConnectorCaught,
}

// starts evaluates the start condition (R2 holds already).
func (a *Activity) starts(s *State) bool {
	states := make([]condition.Connector, len(a.InControl))
	for i := range states {
		if s.control != nil {
			states[i] = connectors[s.control[i]]
		}
	}
	return a.Start.EvalEnds(states)
}
