package badger

// Room says what an unprivileged process can still write to the disk, and the first mark,
// below which SpaceLow holds; both in bytes (S3). Without marks the mark is 0.
func (e *Engine) Room() (free, mark int64, err error) {
	if e.guard == nil {
		return 0, 0, nil
	}
	free, err = e.guard.free()
	return free, e.guard.Free, err
}
