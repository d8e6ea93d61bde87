package world

import "fmqm/internal/task"

// room is how much there is on a site's disk. It is a node.Disk.
type room struct {
	low     bool
	changed *task.Bell
}

// firstMark is where room is low, in bytes.
const firstMark = 256 << 20

func (r *room) SpaceLow() bool { return r.low }

func (r *room) SpaceChanged() *task.Bell { return r.changed }

func (r *room) Room() (free, mark int64, err error) {
	if r.low {
		return firstMark / 2, firstMark, nil
	}
	return firstMark * 2, firstMark, nil
}

// setRoom says how much room the site's disk has: Low, Full, or enough.
func (s *site) setRoom(d Deed) {
	s.disk.SetFull(d == Full)
	if low := d == Low || d == Full; low != s.room.low {
		s.room.low = low
		s.room.changed.Ring()
	}
}
