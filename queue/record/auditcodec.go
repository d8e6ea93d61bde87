package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"fmqm/container"
	"fmqm/internal/cbor"
	"fmqm/message"
	"fmqm/processtable"
)

const (
	MaxReason = 16 << 10 // bytes; encoding cuts what is longer
	// maxMentions bounds the lists of an audit record: what waits apart has its place among
	// what was sent, and how many those were, in two bytes each.
	maxMentions = math.MaxUint16
)

// An audit record's content is a map with integer keys and, behind it, the link
// numbers of Sent, 8 bytes each: so the committer, which alone knows them, fills
// them in without encoding anything.

// AppendAudit appends the map of a; the output is left out where it is staged.
func AppendAudit(b []byte, a *AuditRecord, withOutput bool) []byte {
	w := cbor.BeginMap(b)
	w.Time(0, a.Time)
	w.Uint(1, a.Clock)
	w.Text(2, a.Process.Name)
	w.Uint(3, uint64(a.Process.Version))
	if a.Definition != (processtable.ShortHash{}) {
		w.Bytes(4, a.Definition[:])
	}
	w.Bytes(5, a.Instance[:])
	w.Text(6, string(a.Origin))
	w.Text(7, string(a.Scope))
	w.Text(8, string(a.Activity))
	w.Uint(9, uint64(a.Event))
	w.Uint(10, uint64(a.Iteration))
	w.Uint(11, uint64(a.Attempt))
	w.Uint(12, uint64(a.Run))
	w.Int(13, a.RC)
	w.Time(14, a.Started)
	w.Text(15, CutReason(a.Reason))
	if withOutput {
		w.Bytes(16, a.Output)
	}
	w.Array(17, len(a.Consumed))
	for i := range a.Consumed {
		c := &a.Consumed[i]
		plain := c.Key.Number == 0 && c.Key.Scope == a.Scope
		w.B = cbor.AppendArray(w.B, consumedParts(plain))
		w.B = cbor.AppendUint(w.B, uint64(c.Key.Kind))
		w.B = cbor.AppendText(w.B, string(c.Key.Source))
		w.B = cbor.AppendUint(w.B, uint64(c.Control))
		w.B = cbor.AppendUint(w.B, uint64(c.Data))
		w.B = cbor.AppendUint(w.B, c.Clock)
		if !plain {
			w.B = cbor.AppendText(w.B, string(c.Key.Scope))
			w.B = cbor.AppendUint(w.B, c.Key.Number)
		}
	}
	w.Array(18, len(a.Sent))
	for i := range a.Sent {
		s := &a.Sent[i]
		plain := s.plain(a.Scope)
		w.B = cbor.AppendArray(w.B, sentParts(plain))
		w.B = cbor.AppendText(w.B, string(s.Target))
		w.B = cbor.AppendText(w.B, string(s.Node))
		w.B = cbor.AppendUint(w.B, uint64(s.Control))
		w.B = cbor.AppendUint(w.B, uint64(s.Data))
		w.B = cbor.AppendUint(w.B, uint64(s.Lane))
		if !plain {
			w.B = cbor.AppendUint(w.B, uint64(s.Kind))
			w.B = cbor.AppendText(w.B, string(s.Scope))
			w.B = cbor.AppendUint(w.B, s.Nth)
		}
	}
	w.Text(19, a.By)
	w.Text(20, strings.ToValidUTF8(a.Stderr[:min(len(a.Stderr), MaxStderr)], ""))
	if o := a.Word; o != nil {
		w.Array(21, wordParts)
		w.B = cbor.AppendText(cbor.AppendBytes(w.B, o.ID[:]), string(o.Wish))
		w.B = cbor.AppendText(cbor.AppendUint(w.B, uint64(o.Result)), string(o.Home))
	}
	if a.Ending != (message.Ending{}) {
		w.Key(22)
		m := cbor.BeginMap(w.B)
		m.Bool(0, a.TimedOut)
		m.Text(1, CutReason(a.Failure))
		w.B = m.B
	}
	if a.Child != nil || a.Parent != nil {
		w.Key(23)
		m := cbor.BeginMap(w.B)
		if a.Child != nil {
			m.Key(0)
			m.B = message.AppendChild(m.B, a.Child)
		}
		if a.Parent != nil {
			m.Key(1)
			m.B = message.AppendParent(m.B, a.Parent)
		}
		w.B = m.B
	}
	w.Array(26, len(a.Counted))
	for _, counted := range a.Counted {
		w.B = cbor.AppendText(w.B, string(counted))
	}
	if a.About != nil {
		w.Key(28)
		w.B = message.AppendEventRef(w.B, a.About)
	}
	if a.People != nil {
		w.Key(33)
		w.B = message.AppendPeople(w.B, a.People)
	}
	w.Uint(36, uint64(a.Rank))
	if a.Erased != nil {
		w.Key(50)
		w.B = appendErased(w.B, a.Erased)
	}
	appendSearched(&w, 51, a.Search)
	if a.Told != nil {
		w.Key(52)
		w.B = message.AppendTold(w.B, a.Told)
	}
	return w.B
}

// CutReason cuts a text to what a record keeps of it, between two characters.
func CutReason(s string) string {
	if len(s) > MaxReason {
		s = s[:MaxReason]
	}
	return strings.ToValidUTF8(s, "")
}

// ValidateAudit refuses what could not be found or read again.
func ValidateAudit(a *AuditRecord) error {
	switch {
	case a.Instance == uuid.Nil:
		return errors.New("audit record without an instance")
	case !processtable.ValidActivity(string(a.Activity)):
		return fmt.Errorf("audit record of activity %.80q: this cannot be the name of an activity", a.Activity)
	case strings.ContainsRune(string(a.Scope), 0) || len(a.Scope) > message.MaxScope:
		return errors.New("audit record: its scope is too long or has a zero byte")
	case !a.Event.Valid():
		return fmt.Errorf("audit record of unknown event %d", a.Event)
	case a.Scope != "" && (a.Event == EventStarted || a.Event == EventEnded):
		return fmt.Errorf("audit record: an instance begins and ends at the top of its process, and not in scope %q", a.Scope)
	case len(a.Consumed) > maxMentions || len(a.Sent) > maxMentions || len(a.Counted) > maxMentions:
		return fmt.Errorf("audit record: it names more than %d messages", maxMentions)
	case len(a.By) > message.MaxBy || !utf8.ValidString(a.By):
		return errors.New("audit record: the name of who commanded is too long or not UTF-8")
	case len(a.Search) > MaxSearch || slices.ContainsFunc(a.Search, func(s Searched) bool { return !s.valid() }):
		return fmt.Errorf("audit record: it is found by more than %d members, or by a value that the index cannot have", MaxSearch)
	case len(a.Output) > container.MaxEncoded:
		return fmt.Errorf("audit record: its output has %d bytes, and at most %d are allowed", len(a.Output), container.MaxEncoded)
	}
	return nil
}

// DecodeAudit reads a map and the link numbers behind it. Output is a part of content.
func DecodeAudit(content []byte) (a AuditRecord, err error) {
	r := cbor.NewReader(content)
	for f := r.Map(); f.Next(); {
		decodeAuditField(&a, &f)
	}
	if err := r.Err(); err != nil {
		return a, err
	}
	numbers := content[r.Offset():]
	if len(numbers) != 8*len(a.Sent) {
		return a, fmt.Errorf("it has %d bytes of link numbers for %d messages", len(numbers), len(a.Sent))
	}
	for i := range a.Sent {
		a.Sent[i].Number = binary.BigEndian.Uint64(numbers[8*i:])
	}
	return a, nil
}

func decodeAuditField(a *AuditRecord, f *cbor.Fields) {
	const name = processtable.MaxName
	switch f.Key {
	case 0:
		a.Time = f.Time()
	case 1:
		a.Clock = f.Uint(math.MaxUint64)
	case 2:
		a.Process.Name = f.Text(name)
	case 3:
		a.Process.Version = int(f.Uint(processtable.MaxVersion))
	case 4:
		f.Fixed(a.Definition[:])
	case 5:
		f.Fixed(a.Instance[:])
	case 6:
		a.Origin = processtable.NodeID(f.Text(name))
	case 7:
		a.Scope = message.Scope(f.Text(message.MaxScope))
	case 8:
		a.Activity = processtable.ActivityID(f.Text(name))
	case 9:
		a.Event = Event(f.Uint(math.MaxUint8))
	case 10:
		a.Iteration = int(f.Uint(math.MaxInt64))
	case 11:
		a.Attempt = int(f.Uint(math.MaxInt64))
	case 12:
		a.Run = int(f.Uint(math.MaxInt64))
	case 13:
		a.RC = f.Int()
	case 14:
		a.Started = f.Time()
	case 15:
		a.Reason = f.Text(MaxReason)
	case 16:
		a.Output = f.Bytes(container.MaxEncoded)
	case 17:
		a.Consumed = make([]Consumed, f.Array(maxMentions))
		for i := range a.Consumed {
			decodeConsumed(&a.Consumed[i], a.Scope, f.Reader)
		}
	case 18:
		a.Sent = make([]Sent, f.Array(maxMentions))
		for i := range a.Sent {
			decodeSent(&a.Sent[i], a.Scope, f.Reader)
		}
	case 19:
		a.By = f.Text(message.MaxBy)
	case 20:
		a.Stderr = f.Text(MaxStderr)
	case 21:
		a.Word = decodeWord(f.Reader)
	case 22:
		decodeEnding(&a.Ending, f.Reader)
	case 23:
		decodeFamily(a, f.Reader)
	case 28:
		about := message.ReadEventRef(f.Reader)
		a.About = &about
	case 33:
		people := message.ReadPeople(f.Reader)
		a.People = &people
	case 36:
		a.Rank = message.Rank(f.Uint(uint64(message.MaxRank)))
	case 50:
		a.Erased = readErased(f.Reader)
	case 51:
		a.Search = readSearched(f)
	case 52:
		a.Told = message.ReadTold(f.Reader)
	case 26:
		for range f.Items(maxMentions) {
			a.Counted = append(a.Counted, processtable.ActivityID(f.Text(name)))
		}
	default:
		f.Unknown()
	}
}

// consumedParts is how many parts a consumed message has: of one that is not plain, its source's
// scope and its number too.
func consumedParts(plain bool) int {
	if plain {
		return 5
	}
	return 7
}

func decodeConsumed(c *Consumed, scope message.Scope, r *cbor.Reader) {
	parts := r.Array(consumedParts(false))
	if parts != consumedParts(true) && parts != consumedParts(false) {
		r.Fail("expected a consumed message of 5 or 7 parts")
	}
	c.Key.Kind = message.Kind(r.Uint(math.MaxUint8))
	c.Key.Source = processtable.ActivityID(r.Text(processtable.MaxName))
	c.Control = message.Truth(r.Uint(math.MaxUint8))
	c.Data = message.Data(r.Uint(math.MaxUint8))
	c.Clock = r.Uint(math.MaxUint64)
	c.Key.Scope = scope
	if parts == consumedParts(true) {
		return
	}
	c.Key.Scope = message.Scope(r.Text(message.MaxScope))
	c.Key.Number = r.Uint(math.MaxUint64)
	if c.Key.Scope == scope && c.Key.Number == 0 {
		r.Fail("a consumed message has its source's scope and its number although it is plain")
	}
}

// plain: the message is a connector to an activity of the sender's scope, the only one between them.
func (s *Sent) plain(from message.Scope) bool { return s.Kind == 0 && s.Nth == 0 && s.Scope == from }

// sentParts is how many parts a sent message has: of one that is not plain, its kind, the target's
// scope and its number too.
func sentParts(plain bool) int {
	if plain {
		return 5
	}
	return 8
}

func decodeSent(s *Sent, from message.Scope, r *cbor.Reader) {
	parts := r.Array(sentParts(false))
	if parts != sentParts(true) && parts != sentParts(false) {
		r.Fail("expected a sent message of 5 or 8 parts")
	}
	s.Target = processtable.ActivityID(r.Text(processtable.MaxName))
	s.Node = processtable.NodeID(r.Text(processtable.MaxName))
	s.Control = message.Truth(r.Uint(math.MaxUint8))
	s.Data = message.Data(r.Uint(math.MaxUint8))
	s.Lane = message.Lane(r.Uint(math.MaxUint8))
	if s.Scope = from; parts == sentParts(true) {
		return
	}
	s.Kind = message.Kind(r.Uint(math.MaxUint8))
	s.Scope = message.Scope(r.Text(message.MaxScope))
	s.Nth = r.Uint(math.MaxUint64)
	if s.plain(from) {
		r.Fail("a sent message has its kind, the target's scope and its number although it is plain")
	}
}

const wordParts = 4

func decodeWord(r *cbor.Reader) *Word {
	if r.Array(wordParts) != wordParts {
		r.Fail("expected a word of %d parts", wordParts)
	}
	var o Word
	r.Fixed(o.ID[:])
	o.Wish = message.Wish(r.Text(processtable.MaxName))
	o.Result = message.WordResult(r.Uint(math.MaxUint8))
	o.Home = processtable.NodeID(r.Text(processtable.MaxName))
	return &o
}

func decodeEnding(e *message.Ending, r *cbor.Reader) {
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case 0:
			e.TimedOut = f.Bool()
		case 1:
			e.Failure = f.Text(MaxReason)
		default:
			f.Unknown()
		}
	}
}

func decodeFamily(a *AuditRecord, r *cbor.Reader) {
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case 0:
			child := message.ReadChild(f.Reader)
			a.Child = &child
		case 1:
			parent := message.ReadParent(f.Reader)
			a.Parent = &parent
		default:
			f.Unknown()
		}
	}
}

// EndOf says where an audit record is found by its activity: as the start or end of
// its instance (which), or as the end of an activity.
func EndOf(a *AuditRecord) (which byte, ends bool) {
	top := a.Scope == ""
	switch a.Event {
	case EventStarted:
		return InstanceStarted, false
	case EventEnded:
		return InstanceEnded, false
	case EventStopped:
		if top && a.Activity == processtable.Sink {
			return InstanceEnded, false
		}
		return 0, true
	case EventTerminated, EventSkipped, EventCancelled, EventThinned:
		return 0, true
	case EventIterated, EventFailed, EventInError, EventRetried, EventPassed, EventDropped, EventAsked, EventAnswered, EventCancelling, EventBegun, EventReturned,
		EventSent, EventReceived, EventPutBack, EventDecided, EventRaced, EventNotified, EventForced, EventSuspended, EventResumed, EventExpedited, EventErased, EventRestarted, EventRecalled, EventKept,
		EventOffered, EventClaimed, EventReleased, EventTransferred, EventSaved, EventCompleted, EventWithdrawn, EventEscalated:
		return 0, false
	}
	return 0, false
}

// ReadAuditHead reads an audit record without what it has staged, which ref names.
func ReadAuditHead(key, value []byte) (a AuditRecord, ref BodyRef, err error) {
	content, err := Open(key, value)
	if err != nil {
		return a, ref, err
	}
	p, rest, err := ReadPlace(key, content)
	if err != nil {
		return a, ref, err
	}
	if p.Ref.Count == 0 {
		rest = p.Inline
	}
	if p.Ref.Count > MostParts {
		return a, ref, Damaged(key, fmt.Sprintf("it names %d chunks", p.Ref.Count))
	}
	if a, err = DecodeAudit(rest); err != nil {
		return a, ref, fmt.Errorf("%w: %w", Damaged(key, "this program cannot read it"), err)
	}
	a.Output = nil // a part of value
	return a, p.Ref, nil
}
