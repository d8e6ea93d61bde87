package record

import (
	"encoding/binary"
	"time"

	"fmqm/message"
	"fmqm/processtable"
)

// Timer puts a message of kind due into an entry once its time has come by the machine's clock (N13),
// in the transaction that takes the timer. Until then it lies in the store, and its entry's
// transactions may take it away. A clock that is set, or a machine that sleeps, makes it early or
// late, and is noticed within a minute (invariant 14).
type Timer struct {
	Name string // of the entry's timers, in the form of an activity's name; may be empty
	Due  time.Time
	// Pause is how long it waits when it is set. One that would wait longer, by more than a minute, was
	// set by a clock that was set back since: it comes at once. 0: it waits for Due, whatever
	// the clock showed before.
	Pause   time.Duration
	Process processtable.ProcessID
	Entry   message.Entry
}

// TimerVersion is that of the records of timers that have a pause.
const TimerVersion = 2

// NewTimer gives the record of a timer under its key.
func NewTimer(key []byte, t *Timer) []byte {
	if t.Pause <= 0 {
		return New(key)
	}
	value := End(binary.BigEndian.AppendUint64([]byte{TimerVersion}, uint64(t.Pause)))
	Seal(key, value)
	return value
}

// ReadTimer reads a timer.
func ReadTimer(key, value []byte) (Timer, error) {
	k := KeyReader{Rest: key[1:]}
	t := Timer{Due: DueTime(k.Uint64()), Process: k.Process(), Entry: k.Entry()}
	if t.Name = string(k.Rest); k.Bad || t.Name != "" && !processtable.ValidActivity(t.Name) {
		return t, Damaged(key, ErrKey.Error())
	}
	version, content, err := openVersion(key, value)
	switch {
	case err != nil:
		return t, err
	case version < TimerVersion:
		return t, nil
	case len(content) != 8:
		return t, Damaged(key, "this program does not know the form of its content")
	}
	t.Pause = time.Duration(binary.BigEndian.Uint64(content))
	return t, nil
}

// Message is what a timer becomes once it is due, at a node.
func (t *Timer) Message(node processtable.NodeID) message.Message {
	return message.Message{Header: message.Header{
		Queue:    message.Queue{Process: t.Process, Node: node},
		Instance: t.Entry.Instance, Scope: t.Entry.Scope, Activity: t.Entry.Activity,
		SourceScope: t.Entry.Scope, Source: processtable.ActivityID(t.Name), Number: TimerDue(t.Due),
		Kind: message.KindDue, Lane: message.LaneControl,
	}}
}
