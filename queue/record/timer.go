package record

import (
	"time"

	"fmqm/message"
	"fmqm/processtable"
)

// ReadTimer reads a timer, which is all key.
func ReadTimer(key []byte) (Timer, error) {
	k := KeyReader{Rest: key[1:]}
	t := Timer{Due: DueTime(k.Uint64()), Process: k.Process(), Entry: k.Entry()}
	if err := k.End(); err != nil {
		return t, Damaged(key, err.Error())
	}
	return t, nil
}

// Timer wakes an entry once Due has come by the machine's clock: its mailbox gets a
// Delivery with it and without messages. It is a message in the timer queue and survives
// restarts; it stays until consumed. A clock that is set, or a machine that sleeps, makes
// it early or late, and is noticed within a minute (invariant 14).
type Timer struct {
	Due     time.Time
	Process processtable.ProcessID
	Entry   message.Entry
}
