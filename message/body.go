package message

import (
	"fmt"
	"math"
	"strings"
	"time"

	"fmqm/container"
	"fmqm/internal/cbor"
	"fmqm/internal/text"
	"fmqm/processtable"
)

// Limits of the texts in bodies, in bytes.
const (
	MaxText = 16 << 10 // of an error or a reason; encoding cuts what is longer
	MaxKey  = 1 << 10  // of a start key
	MaxBy   = 256      // of who has commanded something
)

// Record is the body of a KindRecord message: what the origin keeps of an instance
// from its start to its end (N1, N2).
type Record struct {
	Process   processtable.ProcessID
	Started   time.Time
	InputHash [32]byte // SHA-256 of Input, for refusing a repeat with another one
	Key       string   // the start key, if there was one
	Input     []byte   // CBOR container
	Parent    *Parent  // of a subprocess; nil: it was started by itself (N19). Not of version 1
	By        Doer     // who has started it, of a subprocess the outermost instance; zero: no person. Not of versions before 3
}

// Snapshot is the body of a KindSnapshot message: what an activity remembers of
// itself (N4, N9).
type Snapshot struct {
	Iteration   int       // under way, or next; counts from 1
	Run         int       // grows with an operator's restart (P1)
	Attempt     int       // failed attempts of this iteration
	Due         time.Time // it goes on then; zero: at once
	Quick       int       // quick iterations in a row
	Input       []byte    // CBOR container of the iteration, fed back; nil: derived from connectors
	Error       string    // why it is in error
	Failed      bool      // it is in error, and waits for an operator
	HasOutput   bool      // the program had ended with Output and RC when the error came
	Output      []byte    // CBOR container
	RC          int64
	LastFailure string    // of the last failed attempt
	Started     time.Time // of the last attempt that has ended

	// Cause is why it is in error, for who decides by it: Error is for people. It is not
	// known of what version 1 wrote.
	Cause  Cause
	Source processtable.ActivityID // with CauseRefused: whose message it was

	Begun     bool      // of a composite: the iteration's work was begun (N12)
	Deadline  time.Time // zero: it has none, or is not decided (N23)
	Until     time.Time // of a wait: it goes on then
	Ending              // with HasOutput: how it had ended
	Child     Child     // of a subprocess: the instance that was begun last (N19)
	Event     string    // of a receive, with HasOutput: the event that it had taken (N24)
	Cancelled int       // of a composite: how many of the activities inside were told that they are cancelled (N25)
	Gathered  *Gathered // of a bundle that has begun (N21)
	// At is where the work of a call was begun last (N20).
	At processtable.NodeID

	// Counted are, of an activity that is decided with the first connectors, those whose connectors
	// counted, in the order in which they came; Came all others whose connectors were resolved by then (N14).
	Counted, Came []processtable.ActivityID

	Notices bool          // of an activity: its notices were begun; of a notice: its timer is set (N23)
	Every   time.Duration // of a notice: it is repeated; 0: it is not
	Hand    *Hand         // an operator ends it (N30); nil: nobody does

	// Item is the work item that the iteration of a manual activity is (N27); nil: it was not offered. In error it says
	// who had done it. Of a notice it is what people are shown, if they are (Item.Offered).
	Item *Item

	// Told is what a notice tells of; nil: it comes at a time, or is none. Telling is how far sink has come with that; nil: it has told
	// of nothing but the end.
	Told    *Told
	Telling *Telling

	// Edition is the number of the activity's connectors: one more with each restart that was begun (N30).
	Edition uint64
	// Restart is that what the activity has come to is being recalled, so that it can run once more; nil: it is not. HasOutput,
	// Output, RC, Started and Ending are then how it has ended.
	Restart *Restart
}

// Did is who did what the staff expression of a notice asks for.
func (s *Snapshot) Did() Doers {
	if s.Item == nil {
		return nil
	}
	return s.Item.Did
}

// Cause says what kind of thing put an activity in error. The numbers are stored.
type Cause uint8

const (
	CauseUnknown  Cause = iota // it is not in error, or version 1 wrote it
	CauseAttempts              // no attempt is left
	CauseResult                // the program ended, and what was to follow failed: a condition, a mapping, a limit
	CauseInput                 // its input cannot be made of what came
	CauseRefused               // a message to it was refused, and set aside
	CauseUnsent                // what it sends is too large for a transaction
	causes
)

// Marker is the body of a KindMarker message: an operator ended the instance (N7).
type Marker struct {
	Reason string
	Time   time.Time
	By     string // who, as "alice at B"; at most MaxBy bytes of UTF-8. Not known of what version 1 wrote
	// Relay: it has come to the node where the instance was started only, and whoever ends sink there
	// tells the others (N19). Not of versions before 3.
	Relay bool
}

// maxWhy bounds what is taken of a marker as an operator's reason: another site's marker may have anything.
const maxWhy = 1 << 10

// TerminatedBy is the reason of a marker that an operator puts, with his own one, if he gives one.
func TerminatedBy(by, why string) string {
	if why == "" {
		return "terminated by " + by
	}
	return "terminated by " + by + ": " + why
}

// Why is the operator's own reason in that of a marker; empty: he gave none, or it is no operator's.
func (m *Marker) Why() string {
	why, ok := strings.CutPrefix(m.Reason, TerminatedBy(m.By, "")+": ")
	if !ok {
		return ""
	}
	return cutTo(why, maxWhy)
}

// Times are kept in nanoseconds since 1970, and come back in UTC; a zero time stays
// zero. All bodies are an array of a version and a map with integer keys.

// snapshotVersion is that of one of a notice of what has happened, or of sink that has told of something; version 7 is that of one of an activity that is, or was, restarted; version 6 is that of one that an operator ends, or of a work item; version 5 is that of a snapshot with what table format 7 brought, version 4 is that of a subprocess, version 3 is that of a composite, or with times, version 2 is that of one with a
// cause, and all others are written in version 1, so that each has one form. It is not the version
// of messages: a snapshot stays at its node.
const snapshotVersion = 8

// version is the lowest that can say s.
func (s *Snapshot) version() uint64 {
	switch {
	case s.Told != nil, s.Telling != nil:
		return snapshotVersion
	case s.Edition != 0, s.Restart != nil:
		return 7
	case s.Hand != nil, s.Item != nil:
		return 6
	case s.Gathered != nil || s.At != "" || s.Event != "" || len(s.Counted)+len(s.Came) > 0 || s.Notices || s.Every != 0:
		return 5
	case s.Child != Child{}:
		return 4
	case s.Begun || !s.Deadline.IsZero() || !s.Until.IsZero() || s.Cancelled != 0 || s.Ending != Ending{}:
		return 3
	case s.Cause != CauseUnknown:
		return 2
	}
	return 1
}

// recordVersion is that of the record of an instance that a person has started, version 2 that of one with a parent;
// others are written in version 1. It stays at its node.
const recordVersion = 3

// version is the lowest that can say r.
func (r *Record) version() uint64 {
	switch {
	case r.By != Doer{}:
		return recordVersion
	case r.Parent != nil:
		return 2
	}
	return 1
}

// markerVersion is that of a marker that is relayed, which stays at its node; version 2 is that of one
// with By. Older nodes store a marker of that as well: they look into one only to show it, once it was
// set aside.
const markerVersion = 3

// version is the lowest that can say m.
func (m *Marker) version() uint64 {
	switch {
	case m.Relay:
		return markerVersion
	case m.By != "":
		return 2
	}
	return 1
}

func beginBody(version uint64, size int) cbor.Map {
	b := cbor.AppendArray(make([]byte, 0, 64+size), 2)
	return cbor.BeginMap(cbor.AppendUint(b, version))
}

// decodeBody calls field for each field of a body, and gives its version.
func decodeBody(what string, newest uint64, data []byte, field func(*cbor.Fields)) (version uint64, err error) {
	r := cbor.NewReader(data)
	if n := r.Array(2); n != 2 {
		r.Fail("expected array of version and fields")
	}
	version = r.Uint(1<<32 - 1)
	switch {
	case r.Err() != nil || 1 <= version && version <= newest:
	case newest == 1:
		r.Fail("version %d: this node reads version 1: upgrade it", version)
	default:
		r.Fail("version %d: this node reads versions 1 to %d: upgrade it", version, newest)
	}
	for f := r.Map(); f.Next(); {
		field(&f)
	}
	if err := r.End(); err != nil {
		return version, fmt.Errorf("%w: %s: %w", ErrFormat, what, err)
	}
	return version, nil
}

// cut makes s valid UTF-8 of at most MaxText bytes.
func cut(s string) string { return cutTo(s, MaxText) }

func cutTo(s string, limit int) string { return text.Cut(strings.ToValidUTF8(s, "?"), limit) }

// EncodeRecord gives the body of a KindRecord message.
func EncodeRecord(r Record) []byte {
	w := beginBody(r.version(), len(r.Input)+len(r.Key)+2*processtable.MaxName)
	w.Text(0, r.Process.Name)
	w.Uint(1, uint64(r.Process.Version))
	w.Time(2, r.Started)
	w.Bytes(3, r.InputHash[:])
	w.Text(4, r.Key)
	w.Bytes(5, r.Input)
	if r.Parent != nil {
		w.Key(6)
		w.B = AppendParent(w.B, r.Parent)
	}
	w.Text(7, r.By.String())
	return w.B
}

// DecodeRecord reads the body of a KindRecord message. Input is a part of data.
func DecodeRecord(data []byte) (r Record, err error) {
	hashed := false
	version, err := decodeBody("record", recordVersion, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			r.Process.Name = f.Text(processtable.MaxName)
		case 1:
			r.Process.Version = int(f.Uint(processtable.MaxVersion))
		case 2:
			r.Started = f.Time()
		case 3:
			f.Fixed(r.InputHash[:])
			hashed = true
		case 4:
			r.Key = f.Text(MaxKey)
		case 5:
			r.Input = f.Bytes(container.MaxEncoded)
		case 6:
			parent := ReadParent(f.Reader)
			r.Parent = &parent
		case 7:
			r.By = readDoer(f.Reader)
		default:
			f.Unknown()
		}
	})
	switch {
	case err != nil:
	case version != r.version():
		err = fmt.Errorf("%w: record: it would be written in version %d, and not %d", ErrFormat, r.version(), version)
	case !hashed:
		err = fmt.Errorf("%w: record: it has no hash of its input", ErrFormat)
	}
	return r, err
}

// EncodeSnapshot gives the body of a KindSnapshot message.
func EncodeSnapshot(s Snapshot) []byte {
	w := beginBody(s.version(), len(s.Input)+len(s.Output)+len(s.Error)+len(s.LastFailure))
	w.Uint(0, uint64(s.Iteration))
	w.Uint(1, uint64(s.Run))
	w.Uint(2, uint64(s.Attempt))
	w.Time(3, s.Due)
	w.Uint(4, uint64(s.Quick))
	w.Bytes(5, s.Input)
	w.Text(6, cut(s.Error))
	w.Bool(7, s.Failed)
	w.Bool(8, s.HasOutput)
	w.Bytes(9, s.Output)
	w.Int(10, s.RC)
	w.Text(11, cut(s.LastFailure))
	w.Time(12, s.Started)
	if s.Cause != CauseUnknown {
		w.Uint(13, uint64(s.Cause))
		w.Text(14, string(s.Source))
	}
	w.Bool(15, s.Begun)
	w.Time(16, s.Deadline)
	w.Time(17, s.Until)
	w.Uint(18, uint64(s.Cancelled))
	w.Bool(19, s.TimedOut)
	w.Text(20, cut(s.Failure))
	if s.Child != (Child{}) {
		w.Key(21)
		w.B = AppendChild(w.B, &s.Child)
	}
	if s.Gathered != nil || s.At != "" {
		w.Key(22)
		w.B = appendBegun(w.B, &s)
	}
	activities(&w, 28, s.Counted)
	activities(&w, 29, s.Came)
	w.Bool(30, s.Notices)
	w.Int(31, int64(s.Every))
	w.Text(32, s.Event)
	if s.Hand != nil {
		w.Key(33)
		w.B = appendHand(w.B, s.Hand)
	}
	if s.Item != nil {
		w.Key(34)
		w.B = appendItem(w.B, s.Item)
	}
	w.Uint(35, s.Edition)
	if s.Restart != nil {
		w.Key(36)
		w.B = appendRestart(w.B, s.Restart)
	}
	if s.Told != nil {
		w.Key(37)
		w.B = AppendTold(w.B, s.Told)
	}
	if s.Telling != nil {
		w.Key(38)
		w.B = appendTelling(w.B, s.Telling)
	}
	return w.B
}

// DecodeSnapshot reads the body of a KindSnapshot message. Input and Output are parts of data.
func DecodeSnapshot(data []byte) (s Snapshot, err error) {
	version, err := decodeBody("snapshot", snapshotVersion, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			s.Iteration = int(f.Uint(math.MaxInt64))
		case 1:
			s.Run = int(f.Uint(math.MaxInt64))
		case 2:
			s.Attempt = int(f.Uint(math.MaxInt64))
		case 3:
			s.Due = f.Time()
		case 4:
			s.Quick = int(f.Uint(math.MaxInt64))
		case 5:
			s.Input = f.Bytes(container.MaxEncoded)
		case 6:
			s.Error = f.Text(MaxText)
		case 7:
			s.Failed = f.Bool()
		case 8:
			s.HasOutput = f.Bool()
		case 9:
			s.Output = f.Bytes(container.MaxEncoded)
		case 10:
			s.RC = f.Int()
		case 11:
			s.LastFailure = f.Text(MaxText)
		case 12:
			s.Started = f.Time()
		case 13:
			s.Cause = Cause(f.Uint(uint64(causes) - 1))
		case 14:
			s.Source = processtable.ActivityID(f.Text(processtable.MaxName))
		case 15:
			s.Begun = f.Bool()
		case 16:
			s.Deadline = f.Time()
		case 17:
			s.Until = f.Time()
		case 18:
			s.Cancelled = int(f.Uint(math.MaxInt32))
		case 19:
			s.TimedOut = f.Bool()
		case 20:
			s.Failure = f.Text(MaxText)
		case 21:
			s.Child = ReadChild(f.Reader)
		case 22:
			readBegun(f.Reader, &s)
		case 32:
			s.Event = f.Text(processtable.MaxName)
		case 33:
			s.Hand = readHand(f.Reader)
		case 28:
			s.Counted = readActivities(f)
		case 29:
			s.Came = readActivities(f)
		case 30:
			s.Notices = f.Bool()
		case 31:
			s.Every = time.Duration(f.Int())
		case 34:
			s.Item = readItem(f.Reader)
		case 35:
			s.Edition = f.Uint(math.MaxUint64)
		case 36:
			s.Restart = readRestart(f.Reader)
		case 37:
			s.Told = ReadTold(f.Reader)
		case 38:
			s.Telling = readTelling(f.Reader)
		default:
			f.Unknown()
		}
	})
	switch {
	case err != nil:
	case version != s.version():
		err = fmt.Errorf("%w: snapshot: version %d with cause %d, and all else that it has would be written in version %d", ErrFormat, version, s.Cause, s.version())
	case s.Restart != nil && (s.Edition == 0 || !s.HasOutput):
		err = fmt.Errorf("%w: snapshot: a restart of what has not ended, or without a number", ErrFormat)
	case s.Source != "" && s.Cause == CauseUnknown:
		err = fmt.Errorf("%w: snapshot: a source (%s) of no cause", ErrFormat, s.Source)
	}
	return s, err
}

// EncodeMarker gives the body of a KindMarker message.
func EncodeMarker(m Marker) []byte {
	w := beginBody(m.version(), len(m.Reason)+len(m.By))
	w.Text(0, cut(m.Reason))
	w.Time(1, m.Time)
	w.Text(2, m.By)
	w.Bool(3, m.Relay)
	return w.B
}

// DecodeMarker reads the body of a KindMarker message.
func DecodeMarker(data []byte) (m Marker, err error) {
	version, err := decodeBody("marker", markerVersion, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			m.Reason = f.Text(MaxText)
		case 1:
			m.Time = f.Time()
		case 2:
			m.By = f.Text(MaxBy)
		case 3:
			m.Relay = f.Bool()
		default:
			f.Unknown()
		}
	})
	if err == nil && version != m.version() {
		err = fmt.Errorf("%w: marker: version %d, by %q: it would be written in version %d", ErrFormat, version, m.By, m.version())
	}
	return m, err
}
