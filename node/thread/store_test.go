package thread

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// modelStore is one process queue as its process thread sees it, in memory and without
// goroutines. It does what the queue manager promises: groups,
// marks of newcomers, staleness, and a mailbox that keeps what comes for an entry
// while a transaction of it is under way.
type modelStore struct {
	self    processtable.NodeID
	entries map[message.Entry]map[message.Key]message.Message
	records map[message.Entry]message.Message
	markers map[message.InstanceID]message.Message
	lying   map[message.InstanceID][]message.Message
	timers  map[timerKey]record.Timer
	audits  []record.AuditRecord
	aside   []record.Refused

	numbered uint64 // of what was set aside
	puts     uint64

	marks   map[message.Entry]*mark
	mailbox []message.Entry
	pending []*pendingTx
	ended   []Event // of transactions, for the thread
	seq     uint64
}

// timerKey is what a transaction takes a timer by.
type timerKey struct {
	name  string
	due   time.Time
	entry message.Entry
}

// mark is what the queue manager remembers of an entry in memory.
type mark struct {
	messages []message.Message
	held     int
	consumed uint64 // transactions up to this one were decided beside another that consumed
	waiting  int
	queued   bool
}

type pendingTx struct {
	tx      *record.Tx
	token   Token
	seq     uint64
	arrived []message.Message
	refused error
}

func newModelStore(self processtable.NodeID) *modelStore {
	return &modelStore{
		self:    self,
		entries: map[message.Entry]map[message.Key]message.Message{},
		records: map[message.Entry]message.Message{},
		markers: map[message.InstanceID]message.Message{}, lying: map[message.InstanceID][]message.Message{},
		timers: map[timerKey]record.Timer{},
		marks:  map[message.Entry]*mark{},
	}
}

func (s *modelStore) at(e message.Entry) *mark {
	m := s.marks[e]
	if m == nil {
		m = &mark{}
		s.marks[e] = m
	}
	return m
}

// submit is queue.Manager.Submit.
func (s *modelStore) submit(tx *record.Tx, token Token) {
	for _, c := range tx.Consume {
		s.at(c.Entry).held++
	}
	s.seq++
	s.pending = append(s.pending, &pendingTx{tx: tx, token: token, seq: s.seq})
}

// commit writes the first n transactions as one group. refuse may refuse one that
// could be committed.
func (s *modelStore) commit(n int, refuse func(*record.Tx) error) (remote []message.Message) {
	group := s.pending[:n]
	s.pending = slices.Clone(s.pending[n:])
	for _, p := range group {
		if p.refused = s.examine(p); p.refused == nil {
			p.refused = refuse(p.tx)
		}
		if p.refused == nil {
			remote = append(remote, s.apply(p)...)
		}
	}
	for _, p := range group {
		if p.refused != nil {
			s.done(p)
			continue
		}
		for _, c := range p.tx.Consume {
			if takes(c) {
				s.at(c.Entry).consumed = s.seq
			}
		}
	}
	for _, p := range group {
		if p.refused == nil {
			for _, m := range p.arrived {
				s.deliver(m)
			}
			s.done(p)
		}
	}
	return remote
}

func takes(c record.Consume) bool { return len(c.Keys)+len(c.Timers) > 0 }

func (s *modelStore) examine(p *pendingTx) error {
	for _, c := range p.tx.Consume {
		m := s.at(c.Entry)
		if m.waiting > 0 || len(m.messages) > 0 || p.seq <= m.consumed {
			return fmt.Errorf("%w: %s", commit.ErrStale, c.Entry.Activity)
		}
	}
	for _, number := range p.tx.Settle {
		if s.setAside(number) < 0 {
			return commit.ErrNotRefused
		}
	}
	for i := range p.tx.Put {
		if _, err := message.Encode(p.tx.Put[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *modelStore) apply(p *pendingTx) (remote []message.Message) {
	tx := p.tx
	for _, c := range tx.Consume {
		if c.Replaces != nil {
			s.checkReplaces(tx, c)
		}
		for _, k := range c.Keys {
			delete(s.entries[c.Entry], k)
			if k.Kind == message.KindRecord {
				delete(s.records, c.Entry)
			}
		}
		if len(s.entries[c.Entry]) == 0 {
			delete(s.entries, c.Entry)
		}
		if takes(c) {
			s.at(c.Entry).consumed = math.MaxUint64
		}
		for _, t := range c.Timers {
			delete(s.timers, timerKey{t.Name, t.Due, c.Entry})
		}
	}
	for _, m := range tx.Put {
		if m.Queue.Node != s.self {
			remote = append(remote, m)
			continue
		}
		if len(tx.Consume) > 0 && m.Queue.Process != tx.Consume[0].Process { // of another process queue here, which is no concern of this one's
			continue
		}
		p.arrived = append(p.arrived, s.put(m))
	}
	for _, t := range tx.Timers {
		s.timers[timerKey{t.Name, t.Due, t.Entry}] = t
	}
	for _, ended := range tx.Supersede {
		s.supersede(ended)
	}
	for i := range tx.Audit {
		s.checkAnswered(&tx.Audit[i])
	}
	s.audits = append(s.audits, tx.Audit...)
	for _, a := range tx.Refuse {
		s.numbered++
		a.Number = s.numbered
		s.aside = append(s.aside, a)
	}
	for _, number := range tx.Settle {
		i := s.setAside(number)
		s.aside = slices.Delete(s.aside, i, i+1)
	}
	return remote
}

// checkReplaces compares what a submitter says that it replaces of an entry with what
// is there.
func (s *modelStore) checkReplaces(tx *record.Tx, c record.Consume) {
	var goes []message.Key
	for _, other := range tx.Consume {
		if other.Entry == c.Entry {
			goes = append(goes, other.Keys...)
		}
	}
	for _, m := range tx.Put {
		if m.Entry() != c.Entry {
			continue
		}
		_, there := s.entries[c.Entry][m.Key()]
		if said := slices.Contains(c.Replaces, m.Key()); said != (there && !slices.Contains(goes, m.Key())) {
			panic(fmt.Sprintf("%v of %s: said to replace: %v, is there: %v", m.Key(), c.Entry.Activity, said, there))
		}
	}
}

// checkAnswered compares the line about a word that was not carried out with what has happened to its activity by then:
// history has it behind that. Of lines about words nothing follows, so that several may be at one moment of the clock; nor does
// anything of a recall that was given up, which leaves the activity's end as it was.
func (s *modelStore) checkAnswered(line *record.AuditRecord) {
	if line.Event != record.EventAnswered {
		return
	}
	leaveNothing := []record.Event{record.EventAnswered, record.EventRecalled, record.EventKept}
	for i := range s.audits {
		was := &s.audits[i]
		same := was.Instance == line.Instance && was.Scope == line.Scope && was.Activity == line.Activity
		if same && !slices.Contains(leaveNothing, was.Event) && was.Clock >= line.Clock {
			panic(fmt.Sprintf("%s: %q is at %d of the clock, and it was %s at %d", line.Activity, line.Reason, line.Clock, eventNames[was.Event], was.Clock))
		}
	}
}

func (s *modelStore) setAside(number uint64) int {
	return slices.IndexFunc(s.aside, func(a record.Refused) bool { return a.Number == number })
}

// put stores a message and gives it with its arrival number.
func (s *modelStore) put(m message.Message) message.Message {
	e := m.Entry()
	s.puts++
	m.Arrival = message.Arrival{Commit: s.puts}
	s.at(e).waiting++
	switch m.Kind {
	case message.KindMarker:
		s.markers[m.Instance] = m
	case message.KindRecord:
		s.records[e] = m
	case message.KindMark:
		s.lying[m.Instance] = slices.DeleteFunc(s.lying[m.Instance], func(o message.Message) bool { return o.Key() == m.Key() })
		s.lying[m.Instance] = append(s.lying[m.Instance], m)
	default:
		if s.entries[e] == nil {
			s.entries[e] = map[message.Key]message.Message{}
		}
		s.entries[e][m.Key()] = m
	}
	return m
}

func (s *modelStore) deliver(m message.Message) {
	e := m.Entry()
	at := s.at(e)
	at.waiting--
	at.messages = append(at.messages, m)
	s.enqueue(e)
}

func (s *modelStore) enqueue(e message.Entry) {
	if m := s.at(e); m.held == 0 && !m.queued {
		m.queued = true
		s.mailbox = append(s.mailbox, e)
	}
}

func (s *modelStore) done(p *pendingTx) {
	for _, c := range p.tx.Consume {
		m := s.at(c.Entry)
		m.held--
		if m.held == 0 && len(m.messages) > 0 {
			s.enqueue(c.Entry)
		}
	}
	s.ended = append(s.ended, Committed{p.token, endOf(p.refused), textOf(p.refused)})
}

// take is mailbox.Reader.Take.
func (s *modelStore) take(limit int) []record.Delivery {
	var out []record.Delivery
	for range min(limit, len(s.mailbox)) {
		e := s.mailbox[0]
		s.mailbox = s.mailbox[1:]
		m := s.at(e)
		m.queued = false
		if m.held > 0 {
			continue
		}
		if len(m.messages) > 0 {
			out = append(out, record.Delivery{Entry: e, Messages: m.messages})
		}
		m.messages = nil
	}
	return out
}

// fire makes messages of the timers that are due, or were set by a clock that was ahead.
func (s *modelStore) fire(now time.Time) {
	var due []timerKey
	for key, t := range s.timers {
		if !t.Due.After(now) || t.Pause > 0 && t.Due.Sub(now) > t.Pause+time.Minute {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b timerKey) int {
		return cmp.Or(a.due.Compare(b.due), compareEntries(a.entry, b.entry), cmp.Compare(a.name, b.name))
	})
	for _, key := range due {
		t := s.timers[key]
		delete(s.timers, key)
		s.deliver(s.put(t.Message(s.self)))
	}
}

// nextTimer is the earliest.
func (s *modelStore) nextTimer() (next time.Time) {
	for _, t := range s.timers {
		if next.IsZero() || t.Due.Before(next) {
			next = t.Due
		}
	}
	return next
}

// crash keeps what is on disk, and nothing else.
func (s *modelStore) crash() {
	s.marks, s.mailbox, s.pending, s.ended = map[message.Entry]*mark{}, nil, nil, nil
}

// idle: nothing is under way, and the mailbox is empty.
func (s *modelStore) idle() bool {
	return len(s.pending) == 0 && len(s.mailbox) == 0 && len(s.ended) == 0
}

// endOf is what the shell makes of an error.
func endOf(err error) End {
	for end, is := range map[End]error{Stale: commit.ErrStale, TooLarge: commit.ErrTooLarge, NotAside: commit.ErrNotRefused, Stopped: queue.ErrStopped} {
		if errors.Is(err, is) {
			return end
		}
	}
	if err != nil {
		return Failed
	}
	return Done
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// answer reads what an effect asks for.
func (s *modelStore) answer(e Effect) Event {
	switch e := e.(type) {
	case Load:
		out := Loaded{Token: e.Token}
		for _, key := range e.Entries {
			f := s.facts(key, e.What)
			if e.What&Said != 0 {
				f.Said = s.said(key, e.Word)
			}
			out.Facts = append(out.Facts, f)
		}
		return out
	case List:
		return Listed{e.Token, s.list(e.Instance)}
	case Browse:
		found, more := s.browseFrom(e.After, e.Limit)
		return Browsed{e.Token, found, more}
	}
	panic(fmt.Sprintf("%T asks for nothing", e))
}

func (s *modelStore) facts(key message.Entry, what What) (f Facts) {
	if what&Messages != 0 {
		f.Messages = s.browse(key)
	}
	if what&HowEnded != 0 {
		f.End = s.end(key)
	}
	if marker, found := s.markers[key.Instance]; found && what&Marker != 0 {
		f.Marker = &marker
	}
	for i := range s.lying[key.Instance] {
		if mark, err := message.MarkOf(&s.lying[key.Instance][i]); err == nil && what&Marker != 0 {
			f.Marks = append(f.Marks, mark)
		}
	}
	return f
}

// said gives how a word was answered.
func (s *modelStore) said(e message.Entry, id message.WordID) *record.AuditRecord {
	if _, notice := e.Scope.OfNotice(); notice { // it is a line of the activity's history
		e.Scope = e.Scope.Leave()
	}
	for i := range s.audits {
		a := &s.audits[i]
		if w := a.Word; w != nil && w.ID == id && w.Result != 0 && e == (message.Entry{Instance: a.Instance, Scope: a.Scope, Activity: a.Activity}) {
			return a
		}
	}
	return nil
}

func (s *modelStore) browse(e message.Entry) []message.Message {
	var out []message.Message
	for _, m := range s.entries[e] {
		out = append(out, m)
	}
	if r, ok := s.records[e]; ok {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b message.Message) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(string(a.Source), string(b.Source)))
	})
	return out
}

// list gives the entries of an instance that have messages.
func (s *modelStore) list(i message.InstanceID) (out []message.Entry) {
	for _, e := range s.sorted() {
		if e.Instance == i {
			out = append(out, e)
		}
	}
	for e := range s.records {
		if e.Instance == i && s.entries[e] == nil {
			out = append(out, e)
		}
	}
	return out
}

func (s *modelStore) sorted() []message.Entry {
	out := make([]message.Entry, 0, len(s.entries))
	for e := range s.entries {
		out = append(out, e)
	}
	slices.SortFunc(out, compareEntries)
	return out
}

func (s *modelStore) browseFrom(after message.Entry, limit int) (found []record.EntryMessages, more bool) {
	for _, e := range s.sorted() {
		if after != (message.Entry{}) && compareEntries(e, after) <= 0 {
			continue
		}
		if len(found) == min(limit, 3) { // short turns: much can happen between them
			return found, true
		}
		found = append(found, record.EntryMessages{Entry: e, Messages: s.browse(e)})
	}
	return found, false
}

func (s *modelStore) end(e message.Entry) *record.AuditRecord {
	for i := range s.audits {
		if a := s.audits[i]; a.Instance == e.Instance && a.Scope == e.Scope && a.Activity == e.Activity && ends(a.Event) {
			return &a
		}
	}
	return nil
}

func ends(e record.Event) bool {
	switch e {
	case record.EventStarted, record.EventEnded, record.EventTerminated, record.EventSkipped, record.EventStopped, record.EventCancelled:
		return true
	case record.EventIterated, record.EventFailed, record.EventInError, record.EventRetried, record.EventPassed, record.EventDropped, record.EventAsked, record.EventAnswered, record.EventCancelling,
		record.EventBegun, record.EventReturned, record.EventSent, record.EventReceived, record.EventPutBack,
		record.EventDecided, record.EventRaced, record.EventNotified, record.EventThinned, record.EventForced, record.EventSuspended, record.EventResumed, record.EventExpedited, record.EventRestarted, record.EventRecalled, record.EventKept, record.EventErased,
		record.EventOffered, record.EventClaimed, record.EventReleased, record.EventTransferred, record.EventSaved, record.EventCompleted, record.EventWithdrawn, record.EventEscalated:
	}
	return false
}
