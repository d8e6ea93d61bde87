package node

import (
	"fmqm/staff"
)

// Staff gives who works here now (N26); nil: nobody. It never changes: whoever needs one state of
// affairs holds on to it.
func (n *Node) Staff() *staff.Staff { return n.staff.Load() }

// SetStaff takes up a staff that was read again; nil: nobody works here.
func (n *Node) SetStaff(s *staff.Staff) {
	n.staff.Store(s)
	if s != nil {
		n.log.Info().Int("people", s.Len()).Msg("staff taken up")
	}
}
