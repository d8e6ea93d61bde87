package world

// setRoom says how much room the site's disk has: Low, Full, or enough.
func (s *site) setRoom(d Deed) {
	s.disk.SetFull(d == Full)
}
