package lane

// Remember gives what puts back what t shows now: as while a trim is on disk, and its end not shown.
func (t *Transmission) Remember() (back func()) {
	ends := t.ends
	return func() {
		t.mu.Lock()
		t.ends = ends
		t.mu.Unlock()
	}
}
