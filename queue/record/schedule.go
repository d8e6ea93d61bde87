package record

import (
	"bytes"
	"fmt"
	"time"

	"fmqm/internal/cbor"
	"fmqm/message"
)

// Schedule is how far a node has come with the schedules of a process, whatever its version (N23).
type Schedule struct {
	Process   string    // its name
	Until     time.Time // what was due up to then has been started, or passed over
	Rules     [8]byte   // the sum of the rules that Until is of: what others have is due from when they are here
	Suspended bool
	By        string             // who has suspended it
	Due       time.Time          // for which an instance was started last; zero: none was
	Instance  message.InstanceID // that one
	Missed    uint64             // times that were passed over
	Reason    string             // why the last of those was; empty: it was missed
}

// ScheduleKey is that of how far the schedules of a process have come.
func ScheduleKey(process string) []byte {
	return AppendName(ScheduleKeys(), process)
}

// ScheduleKeys is what the keys of all of them begin with.
func ScheduleKeys() []byte { return AppendName([]byte{ClassMeta}, "schedule") }

// ScheduleRecord gives the record of how far the schedules of a process have come.
func ScheduleRecord(s *Schedule) (key, value []byte) {
	w := cbor.BeginMap(nil)
	w.Time(0, s.Until)
	w.Bytes(1, s.Rules[:])
	w.Bool(2, s.Suspended)
	w.Text(3, s.By)
	if !s.Due.IsZero() {
		w.Time(4, s.Due)
		w.Bytes(5, s.Instance[:])
	}
	w.Uint(6, s.Missed)
	w.Text(7, s.Reason)
	key = ScheduleKey(s.Process)
	return key, New(key, w.B...)
}

// ReadSchedule reads it.
func ReadSchedule(key, value []byte) (s Schedule, err error) {
	content, err := Open(key, value)
	if err != nil {
		return s, err
	}
	k := KeyReader{Rest: key[1:]}
	_ = k.Name()
	s.Process = k.Name()
	if k.End() != nil {
		return s, Damaged(key, ErrKey.Error())
	}
	const limit = 1<<64 - 1
	in := cbor.NewReader(bytes.Clone(content))
	for f := in.Map(); f.Next(); {
		switch f.Key {
		case 0:
			s.Until = f.Time()
		case 1:
			f.Fixed(s.Rules[:])
		case 2:
			s.Suspended = f.Bool()
		case 3:
			s.By = f.Text(message.MaxBy)
		case 4:
			s.Due = f.Time()
		case 5:
			f.Fixed(s.Instance[:])
		case 6:
			s.Missed = f.Uint(limit)
		case 7:
			s.Reason = f.Text(MaxReason)
		default:
			f.Unknown()
		}
	}
	if err := in.End(); err != nil {
		return s, fmt.Errorf("%w: %w", Damaged(key, "this program cannot read it"), err)
	}
	return s, nil
}
