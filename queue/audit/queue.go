package audit

import (
	"errors"
	"sync/atomic"

	"fmqm/internal/store"
	"fmqm/processtable"
	"fmqm/queue/read"
)

// Queue is the audit queue of a node, to be read. Its methods are safe for concurrent use.
type Queue struct {
	engine    store.Engine
	records   read.Records
	processes Processes
	thinned   atomic.Bool // retention has removed something
	ends      ends
	bounds    searchBounds
	running   running
}

// Processes says which process queues a node has.
type Processes interface {
	// All gives those that have a table or messages here, by name.
	All() []processtable.ProcessID
	// Tabled says whether a process has a table here.
	Tabled(processtable.ProcessID) bool
}

// New gives the audit queue of a store; damage is told of what cannot be read.
func New(engine store.Engine, damage func(error) error, processes Processes) (*Queue, error) {
	q := &Queue{engine: engine, records: read.Records{Reader: engine, Damage: damage}, processes: processes, bounds: defaultBounds}
	return q, errors.Join(q.loadRemoved(), q.loadEnds())
}
