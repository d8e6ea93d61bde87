package logs

import (
	"cmp"
	"strings"
	"time"

	"fmqm/message"
	"fmqm/processtable"
)

// Attempt is what one attempt of a program has written. It is a line of a file, and goes to peers as it
// is: the keys are stable.
type Attempt struct {
	Instance  message.InstanceID      `json:"instance"` // first: a line is known by it
	Process   string                  `json:"process"`  // NAME@VERSION
	Scope     message.Scope           `json:"scope,omitempty"`
	Activity  processtable.ActivityID `json:"activity"`
	Program   processtable.ProgramID  `json:"program"`
	Iteration int                     `json:"iteration"` // from 1 on, in its scope
	Run       int                     `json:"run,omitempty"`
	Attempt   int                     `json:"attempt"` // from 1 on
	Started   time.Time               `json:"started"`
	Ended     time.Time               `json:"ended,omitzero"` // zero: it runs
	RC        int64                   `json:"rc"`             // once it has ended
	Error     string                  `json:"error,omitempty"`
	Skipped   int64                   `json:"skipped,omitempty"` // bytes that it had written before Text, and that are not kept
	Text      string                  `json:"text"`              // lines, UTF-8, without the last newline
}

// Entry is whose attempt it is.
func (a *Attempt) Entry() message.Entry {
	return message.Entry{Instance: a.Instance, Scope: a.Scope, Activity: a.Activity}
}

// identity is what no two attempts have in common, and what stays when an attempt ends.
type identity struct {
	entry                   message.Entry
	iteration, run, attempt int
	started                 int64
}

func (a *Attempt) identity() identity {
	return identity{a.Entry(), a.Iteration, a.Run, a.Attempt, a.Started.UnixNano()}
}

// Compare orders attempts by when they ended, those that run last.
func (a *Attempt) Compare(b *Attempt) int {
	switch {
	case a.Ended.IsZero() != b.Ended.IsZero() && a.Ended.IsZero():
		return 1
	case a.Ended.IsZero() != b.Ended.IsZero():
		return -1
	}
	return cmp.Or(a.Ended.Compare(b.Ended), a.Started.Compare(b.Started), strings.Compare(string(a.Scope), string(b.Scope)),
		strings.Compare(string(a.Activity), string(b.Activity)), a.Attempt-b.Attempt)
}

// Limits say how much is kept.
type Limits struct {
	Bytes   int64         // of all files together; 0: nothing is kept
	Age     time.Duration // since it was written; 0: as long as there is room
	Attempt int           // bytes of one attempt
}
