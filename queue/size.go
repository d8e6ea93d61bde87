package queue

// Size is how many items the queue holds, and the bytes of their payloads; both lanes
// together. Unlike Stats it reads nothing from disk.
func (t *Transmission) Size() (count, bytes uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.ends {
		count += t.ends[i].last.Number - t.ends[i].low.Number
		bytes += t.ends[i].last.Total - t.ends[i].low.Total
	}
	return count, bytes
}
