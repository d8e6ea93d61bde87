package navigator

import (
	"errors"
	"fmt"

	"fmqm/container"
	"fmqm/message"
)

// Again builds a message once more that an activity of this table has sent, or that was
// sent on the behalf of another node's (R9, R18). It has everything that took effect in
// the first one; the trace is not kept. An error names the activity.
func (p *Process) Again(s Spoken) (message.Message, error) {
	m := message.Message{Header: message.Header{
		Queue:      message.Queue{Process: p.table.Process, Node: s.Node},
		Definition: p.Definition(),
		Instance:   s.Instance,
		Origin:     s.Origin,
		Scope:      s.Scope,
		Activity:   s.Target,
		Source:     s.Source,
		Kind:       message.KindConnector,
		Control:    s.Control,
		Data:       s.Data,
		Lane:       s.Lane,
		Clock:      s.Clock,
	}}
	if s.Onward {
		m.OnBehalf, m.Onward = s.Node, true
	}
	if s.Data != message.DataPresent {
		return m, nil
	}
	a := p.activities[s.Source]
	if a == nil {
		return m, fmt.Errorf("build a message from %s to %s again: %s is not in the table of %s", s.Source, s.Target, s.Source, p.table.Process)
	}
	v, err := container.DecodeCBOR(a.Output, s.Output)
	output, ok := v.(*container.Struct)
	if err == nil && !ok {
		err = errors.New("it is no structure")
	}
	if err != nil {
		return m, fmt.Errorf("build a message from %s to %s again: read the output: %w", s.Source, s.Target, err)
	}
	for _, t := range a.targets {
		if t.activity == s.Target && t.data >= 0 {
			m.Body, err = mapped(a.OutData[t.data].Mappings, Result{RC: s.RC, Output: output})
			return m, err
		}
	}
	return m, fmt.Errorf("build a message from %s to %s again: the table has no data connector between them", s.Source, s.Target)
}
