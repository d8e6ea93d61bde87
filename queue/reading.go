package queue

import (
	"errors"

	"fmqm/internal/store"
)

// judged is the engine of a manager that is open: a read that fails stops the manager, whoever
// asked (invariant 8). What cannot be read may be what must not be missing, so nothing may
// be concluded from it, least of all that it is not there.
type judged struct {
	store.Engine
	m *Manager
}

func (j judged) Get(key []byte) ([]byte, error) { return judgedReader{j.Engine, j.m}.Get(key) }

func (j judged) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	return judgedReader{j.Engine, j.m}.Scan(o, visit)
}

func (j judged) View(read func(store.Reader) error) error {
	return j.Engine.View(func(r store.Reader) error { return read(judgedReader{r, j.m}) })
}

type judgedReader struct {
	store.Reader
	m *Manager
}

func (j judgedReader) Get(key []byte) ([]byte, error) {
	value, err := j.Reader.Get(key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		err = unreadable{j.m.judge(err)}
	}
	return value, err
}

func (j judgedReader) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	err := j.Reader.Scan(o, visit)
	if err != nil {
		err = unreadable{j.m.judge(err)}
	}
	return err
}

// unreadable is an error of a read that was judged.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }
