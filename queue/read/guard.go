package read

import (
	"errors"

	"fmqm/internal/store"
)

// Guard gives an engine of which a read that fails is told to damage, whoever asked (invariant
// 8). What cannot be read may be what must not be missing, so nothing may be concluded from it,
// least of all that it is not there. damage gives the error that the reader gets.
func Guard(engine store.Engine, damage func(error) error) store.Engine {
	return guarded{engine, damage}
}

type guarded struct {
	store.Engine
	damage func(error) error
}

func (g guarded) Get(key []byte) ([]byte, error) { return guardedReader{g.Engine, g.damage}.Get(key) }

func (g guarded) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	return guardedReader{g.Engine, g.damage}.Scan(o, visit)
}

func (g guarded) View(read func(store.Reader) error) error {
	return g.Engine.View(func(r store.Reader) error { return read(guardedReader{r, g.damage}) })
}

type guardedReader struct {
	store.Reader
	damage func(error) error
}

func (g guardedReader) Get(key []byte) ([]byte, error) {
	value, err := g.Reader.Get(key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		err = unreadable{g.damage(err)}
	}
	return value, err
}

func (g guardedReader) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	err := g.Reader.Scan(o, visit)
	if err != nil {
		err = unreadable{g.damage(err)}
	}
	return err
}

// unreadable is an error that was told.
type unreadable struct{ error }

func (u unreadable) Unwrap() error { return u.error }

// told says whether damage knows of err.
func told(err error) bool {
	var u unreadable
	return errors.As(err, &u)
}
