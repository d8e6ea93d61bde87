package message

import (
	"math"
	"time"

	"fmqm/internal/cbor"
	"fmqm/internal/text"
	"fmqm/processtable"
)

// Told is what has happened to an instance, of which a notice of its process tells (paper, section 4).
type Told struct {
	On processtable.Occasions // one of them
	// Scope and Activity are what is in error, or was ended by a deadline; zero: the instance.
	Scope    Scope
	Activity processtable.ActivityID
	Text     string // what is wrong, or why the instance was terminated; empty: it has finished. At most MaxText bytes
	Time     time.Time
}

// Path is how people know what it is about; empty: the instance.
func (t *Told) Path() string {
	if t.Activity == "" {
		return ""
	}
	return t.Scope.Path(t.Activity)
}

// Line is the text in one line of at most limit bytes.
func (t *Told) Line(limit int) string { return text.Cut(text.Line(t.Text), limit) }

const (
	toldOn       = 0
	toldScope    = 1
	toldActivity = 2
	toldText     = 3
	toldTime     = 4
)

// AppendTold appends what a snapshot, or a record, keeps of t.
func AppendTold(b []byte, t *Told) []byte {
	w := cbor.BeginMap(b)
	w.Uint(toldOn, uint64(t.On))
	w.Text(toldScope, string(t.Scope))
	w.Text(toldActivity, string(t.Activity))
	w.Text(toldText, cut(t.Text))
	w.Time(toldTime, t.Time)
	return w.B
}

// ReadTold reads what AppendTold has appended.
func ReadTold(r *cbor.Reader) *Told {
	t := &Told{}
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case toldOn:
			t.On = processtable.Occasions(f.Uint(math.MaxUint8))
		case toldScope:
			t.Scope = Scope(f.Text(processtable.MaxScope))
		case toldActivity:
			t.Activity = processtable.ActivityID(f.Text(processtable.MaxName))
		case toldText:
			t.Text = f.Text(MaxText)
		case toldTime:
			t.Time = f.Time()
		default:
			f.Unknown()
		}
	}
	if r.Err() == nil && len(t.On.Names()) != 1 {
		r.Fail("what has happened is %d, which is no one thing", t.On)
	}
	return t
}

// Telling is how far sink has told of what happens to its instance.
type Telling struct {
	Count int     // of how many things it has told, errors and deadlines
	Upto  Arrival // of the last message of which it has
}

const (
	tellingCount  = 0
	tellingCommit = 1
	tellingIndex  = 2
)

func appendTelling(b []byte, t *Telling) []byte {
	w := cbor.BeginMap(b)
	w.Uint(tellingCount, uint64(t.Count))
	w.Uint(tellingCommit, t.Upto.Commit)
	w.Uint(tellingIndex, uint64(t.Upto.Index))
	return w.B
}

func readTelling(r *cbor.Reader) *Telling {
	t := &Telling{}
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case tellingCount:
			t.Count = int(f.Uint(processtable.MaxTold))
		case tellingCommit:
			t.Upto.Commit = f.Uint(math.MaxUint64)
		case tellingIndex:
			t.Upto.Index = uint32(f.Uint(math.MaxUint32))
		default:
			f.Unknown()
		}
	}
	return t
}
