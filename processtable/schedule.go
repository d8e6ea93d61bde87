package processtable

import (
	"errors"
	"fmt"
	"time"

	"fmqm/container"
	"fmqm/internal/cbor"
	"fmqm/schedule"
)

// MaxSchedules is how many schedules a process may have.
const MaxSchedules = 100

// Missed says which of the starts are made up for that were due while the node could not start them.
// The numbers are part of the stored format.
type Missed uint8

const (
	MissedOnce Missed = 0 // the latest
	MissedAll  Missed = 1 // the last hundred
	MissedSkip Missed = 2 // none
)

// Schedule starts instances of a process at the table's node (N23). Whether its rule can be
// read is for who takes a table: it may become one that cannot, as the list of time zones changes.
type Schedule struct {
	schedule.Rule
	// Input is of the process's input; nil: the defaults.
	Input *container.Struct
	// Due is the member of the input that takes the time for which an instance is started; empty:
	// none does.
	Due    string
	Missed Missed
	// SkipOverlap: nothing is started while what was started last has not ended.
	SkipOverlap bool
}

// String is when it is due, for people.
func (s *Schedule) String() string {
	when := s.Cron
	switch {
	case s.Every != 0:
		when = "every " + s.Every.String()
	case s.Zone != "":
		when += ", " + s.Zone
	default:
		when += ", UTC"
	}
	if s.Missed != MissedOnce {
		when += ", missed: " + s.Missed.String()
	}
	if s.SkipOverlap {
		when += ", overlap: skip"
	}
	return when
}

func (m Missed) String() string {
	switch m {
	case MissedAll:
		return "all"
	case MissedSkip:
		return "skip"
	case MissedOnce:
	}
	return "once"
}

// Keys of a schedule.
const (
	keyCron     = 1
	keyZone     = 2
	keyEvery    = 3 // in nanoseconds
	keySchInput = 4 // bytes: the container, encoded
	keyDue      = 5
	keyMissed   = 6
	keyOverlap  = 7
)

func writeSchedules(m *cbor.Map, t *Table) error {
	if len(t.Schedules) > 0 && t.Format < ModelFormat {
		return fmt.Errorf("format %d has no schedules", t.Format)
	}
	var failed error
	list(m, keySchedules, t.Schedules, func(b []byte, s Schedule) []byte {
		w := cbor.BeginMap(b)
		w.Text(keyCron, s.Cron)
		w.Text(keyZone, s.Zone)
		w.Int(keyEvery, int64(s.Every))
		if s.Input != nil {
			input, err := container.EncodeCBOR(s.Input)
			if err != nil {
				failed = fmt.Errorf("input of a schedule: %w", err)
			}
			w.Bytes(keySchInput, input)
		}
		w.Text(keyDue, s.Due)
		w.Uint(keyMissed, uint64(s.Missed))
		w.Bool(keyOverlap, s.SkipOverlap)
		return w.B
	})
	return failed
}

var scheduleFields = []string{
	keyCron: "cron", keyZone: "zone", keyEvery: "every", keySchInput: "input", keyDue: "due", keyMissed: "missed", keyOverlap: "overlap",
}

func (d *decoder) schedule() (s Schedule) {
	for key := range d.Named(scheduleFields) {
		switch key {
		case keyCron:
			s.Cron = d.Text(schedule.MaxText)
		case keyZone:
			s.Zone = d.Text(schedule.MaxText)
		case keyEvery:
			s.Every = time.Duration(d.Int())
		case keySchInput:
			s.Input = d.input(d.Bytes(container.MaxEncoded))
		case keyDue:
			s.Due = d.Text(MaxName)
		case keyMissed:
			s.Missed = Missed(d.Uint(uint64(MissedSkip)))
		case keyOverlap:
			s.SkipOverlap = d.Bool()
		}
	}
	return s
}

// input reads a container of the process's input.
func (d *decoder) input(encoded []byte) *container.Struct {
	if d.table.Input == nil {
		d.Fail("there is no input structure before this place")
		return nil
	}
	v, err := container.DecodeCBOR(d.table.Input, encoded)
	if err != nil {
		d.Fail("input of a schedule: %v", err)
		return nil
	}
	return v.(*container.Struct)
}

// schedules checks what the format alone does not.
func (v *validator) schedules() error {
	for i := range v.t.Schedules {
		s := &v.t.Schedules[i]
		if (s.Every != 0) == (s.Cron != "") || s.Cron == "" && s.Zone != "" || s.Every < 0 {
			return fmt.Errorf("schedule %d: want a cron expression or an interval, and a zone with the first alone", i+1)
		}
		if s.Due == "" {
			continue
		}
		if at, ok := v.t.Input.MemberIndex(s.Due); !ok || v.t.Input.Members[at].Type.Kind != container.Timestamp {
			return fmt.Errorf("schedule %d: the input has no member %q of type timestamp", i+1, s.Due)
		}
	}
	if len(v.t.Schedules) > 0 && !v.t.IsStart() {
		return errors.New("it has schedules, and the process cannot be started there")
	}
	return nil
}
