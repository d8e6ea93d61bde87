package event

import (
	"errors"
	"fmt"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Queue is the event queue of a node as its process thread knows it.
type Queue struct {
	table *processtable.Table
	meets meeting
}

var (
	_ behaviour.Process   = (*Queue)(nil)
	_ behaviour.Behaviour = meeting{}
)

// NewQueue makes the one of a node.
func NewQueue(node processtable.NodeID) *Queue {
	return &Queue{table: &processtable.Table{
		Format: processtable.BundleFormat, Process: processtable.EventQueue, Node: node, Input: container.Empty, Output: container.Empty,
	}, meets: meeting{node}}
}

// Table has the names of queue and node, and nothing else: no process has these.
func (q *Queue) Table() *processtable.Table { return q.table }

// Definition is none.
func (q *Queue) Definition() processtable.ShortHash { return processtable.ShortHash{} }

// Activity gives what an entry means; nil: there is none of that name.
func (q *Queue) Activity(row processtable.RowID) behaviour.Behaviour {
	if row != (processtable.RowID{Name: processtable.EventMeets}) {
		return nil
	}
	return q.meets
}

var errNoProcess = errors.New("an event queue is no process")

// Start starts nothing.
func (q *Queue) Start(behaviour.Start) (behaviour.Effects, error) {
	return behaviour.Effects{}, errNoProcess
}

// Refuses: what peers may send is for admission to say, which knows what is received here.
func (q *Queue) Refuses(processtable.NodeID, *message.Header) string {
	return "an event queue takes events only"
}

// PassAround passes nothing around.
func (q *Queue) PassAround(message.Message) (message.Message, behaviour.Effects, bool) {
	return message.Message{}, behaviour.Effects{}, false
}

// Again builds an event once more that was passed on from here (S4). One that an activity has sent is for that one's
// process to build.
func (q *Queue) Again(s behaviour.Spoken) (message.Message, error) {
	m, err := s.SentEvent()
	if err != nil {
		err = fmt.Errorf("build an event for %s again: %w", s.Node, err)
	}
	return m, err
}

// Unsaid: nothing that ends in an event queue tells a node of it.
func (q *Queue) Unsaid(behaviour.Spoken) []behaviour.Spoken { return nil }

// meeting is the behaviour of an entry.
type meeting struct{ node processtable.NodeID }

// MayEnd: no cascade decides an entry.
func (meeting) MayEnd(*message.Message) bool { return false }

// Conclude follows on nothing: no program is run.
func (meeting) Conclude(behaviour.State, behaviour.Result, time.Time) behaviour.Effects {
	return behaviour.Effects{}
}

// Command: what cannot be read was set aside, and changes nothing here.
func (meeting) Command(_ behaviour.State, c behaviour.Command, _ time.Time) (behaviour.Effects, error) {
	switch c.(type) {
	case behaviour.Refuse, behaviour.Forgive:
		return behaviour.Effects{}, nil
	}
	return behaviour.Effects{}, fmt.Errorf("an event queue knows no command of type %T", c)
}

// Review reviews nothing: no entry is in error.
func (meeting) Review(behaviour.State, behaviour.Reviewable, time.Time) (*behaviour.Result, error) {
	return nil, errNoProcess
}

// Without resolves nothing: no connector leads here.
func (meeting) Without(behaviour.State, message.Message) (message.Message, string) {
	return message.Message{}, ""
}

// View shows nothing: events are listed otherwise.
func (meeting) View(behaviour.State, time.Time) behaviour.View { return behaviour.View{} }

// Follows: no connector leads here.
func (meeting) Follows(processtable.ActivityID) bool { return false }

// Again builds nothing.
func (meeting) Again(behaviour.Spoken) (message.Message, error) {
	return message.Message{}, errNoProcess
}

// Compute computes nothing.
func (meeting) Compute(behaviour.Invoke, time.Time) behaviour.Result { return behaviour.Result{} }

// Slow: no condition is evaluated.
func (meeting) Slow(*behaviour.Result) bool { return false }

// Judge judges nothing.
func (meeting) Judge(*behaviour.Result) behaviour.Judgement { return nil }

// Values are none.
func (meeting) Values(message.Message) ([]behaviour.Value, error) { return nil, nil }
