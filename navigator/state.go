package navigator

import (
	"fmt"
	"slices"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// State is what the messages of one entry say: the fold of them (invariant 2). The
// zero State is that of an entry without messages. It is plain data without a
// goroutine, and may be dropped at any time, since its messages are its durable form.
type State struct {
	behaviour.Basis
	Record     *message.Record
	Snapshot   *message.Snapshot
	dead       *message.Message // R18: the only control connector is FALSE, and nothing was sent yet
	passed     bool             // R18: what leads out has been resolved, and it only absorbs what still comes
	snapshotAt uint64           // the Clock of Snapshot's message
	unresolved int              // connectors; meaningful once control and data are allocated
	control    []message.Truth
	data       []message.Data
	values     [][]container.Value
	came       []arrived      // where it is decided with the first connectors: in the order of arrival (R35)
	inner      *composed      // of a block, or its source, of a call, or of what is begun; nil: nothing has come
	elements   *gathering     // of a bundle; nil: nothing has come
	list       *listed        // of a bundle: its input, once all connectors are resolved; nil: it was not asked for
	cancel     *cancelled     // nil: it is not
	heard      []happened     // of sink: what it has heard of which notices tell, in the order of arrival (R58)
	events     []received     // that were given to a receive
	back       recalling      // what was recalled, of it and of what leads to it
	offer      *message.Offer // of what offers a manual activity beside its home: what that has said last; nil: nothing since the snapshot
	bytes      int            // of values, in memory
	encoded    int            // of values, as they came
}

var _ behaviour.State = (*State)(nil)

// Empty gives the state of an entry without messages.
func (a *Activity) Empty(e message.Entry) behaviour.State {
	return &State{Basis: behaviour.Basis{Entry: e}}
}

// Clone gives a State that can be folded on without changing s.
func (s *State) Clone() behaviour.State { return s.clone() }

func (s *State) clone() *State {
	c := *s
	c.Keys = slices.Clone(s.Keys)
	c.Consumed = slices.Clone(s.Consumed)
	c.control = slices.Clone(s.control)
	c.data = slices.Clone(s.data)
	c.values = slices.Clone(s.values)
	c.elements = s.elements.clone()
	c.came = slices.Clone(s.came)
	c.heard = slices.Clone(s.heard)
	c.back = s.back.clone()
	return &c
}

// Timers are those of the snapshot.
func (s *State) Timers() []behaviour.Timer {
	if s.Snapshot == nil {
		return nil
	}
	return times(s.Snapshot)
}

// pending are the timers whose time has not come: what stays set where the snapshot does.
func (s *State) pending() []behaviour.Timer { return slices.DeleteFunc(s.Timers(), s.Came) }

// pausing reports that a pause is not over.
func (s *State) pausing() bool {
	due := s.reached().Due
	return !due.IsZero() && !s.Came(behaviour.Timer{Due: due})
}

// What things take in memory; a test holds these to the types.
const (
	stateBytes     = 472
	keyBytes       = 48
	resolvedBytes  = 64
	valuesBytes    = 24 // of a data connector, without what they hold
	snapshotBytes  = 480
	messageBytes   = 264
	recordBytes    = 160
	composedBytes  = 128
	returnedBytes  = 112
	cancelledBytes = 72
	parentBytes    = 152
	elementBytes   = 240
	gatheredBytes  = 120
	receivedBytes  = 720 // with what it names
	arrivedBytes   = 32
	itemBytes      = 200
	doerBytes      = 96 // with names
	offerBytes     = 96
	handBytes      = 320 // with who it was
	happenedBytes  = 176 // with what it names
	toldBytes      = 104 // with how far sink has told
	nameBytes      = 16  // of a name that a connector has as well
)

// Bytes estimates the memory that the state takes.
func (s *State) Bytes() int {
	n := stateBytes + s.bytes + len(s.control) + len(s.data) + valuesBytes*len(s.values) + keyBytes*len(s.Keys) + resolvedBytes*len(s.Consumed) + arrivedBytes*len(s.came)
	if s.Snapshot != nil {
		n += snapshotBytes + len(s.Snapshot.Input) + len(s.Snapshot.Output) + len(s.Snapshot.Error) + len(s.Snapshot.LastFailure) + nameBytes*(len(s.Snapshot.Counted)+len(s.Snapshot.Came))
	}
	if s.Snapshot != nil && s.Snapshot.Item != nil {
		n += itemBytes + len(s.Snapshot.Item.Draft)
	}
	if s.offer != nil {
		n += offerBytes + len(s.offer.By.Person) + len(s.offer.By.For)
	}
	if s.Snapshot != nil && s.Snapshot.Hand != nil {
		n += handBytes + len(s.Snapshot.Hand.Output) + len(s.Snapshot.Hand.Why)
	}
	n += s.back.bytes()
	if s.Snapshot != nil && s.Snapshot.Restart != nil {
		n += restartBytes(s.Snapshot.Restart)
	}
	if s.dead != nil {
		n += messageBytes + len(s.dead.Body)
	}
	if s.Record != nil {
		n += recordBytes + len(s.Record.Input) + len(s.Record.Key)
		if s.Record.Parent != nil {
			n += parentBytes
		}
	}
	if s.cancel != nil {
		n += cancelledBytes + len(s.cancel.reason)
	}
	for i := range s.heard {
		n += happenedBytes + len(s.heard[i].what.Text)
	}
	for i := range s.events {
		n += receivedBytes + len(s.events[i].event.Data)
	}
	if s.inner != nil {
		n += composedBytes + len(s.inner.input)
		if s.inner.parent != nil {
			n += parentBytes
		}
		for _, r := range s.inner.returns {
			n += returnedBytes + len(r.scope) + len(r.output) + len(r.err) + len(r.ending.Failure)
		}
	}
	if s.elements != nil {
		n += s.elements.bytes
	}
	if s.list != nil {
		n += s.list.bytes
	}
	if s.Snapshot != nil && s.Snapshot.Gathered != nil {
		n += gatheredBytes + 8*(len(s.Snapshot.Gathered.Open)+len(s.Snapshot.Gathered.Chunks))
	}
	return n
}

// Waiting reports how many incoming connectors are unresolved, of a; none once it is decided (R35).
func (s *State) Waiting(a *Activity) int {
	if a.isDecided(s) {
		return 0
	}
	if s.control == nil {
		return len(a.InControl) + len(a.InData)
	}
	return s.unresolved
}

// Unresolved names the activities whose control or data connectors into a are not
// resolved yet, in the table's order; none once it is decided (R35).
func (s *State) Unresolved(a *Activity) []processtable.ActivityID {
	if a.isDecided(s) {
		return nil
	}
	var out []processtable.ActivityID
	for i, c := range a.InControl {
		if s.control == nil || s.control[i] == message.Unresolved {
			out = append(out, c.From)
		}
	}
	for i, d := range a.InData {
		if (s.data == nil || s.data[i] == message.DataNone) && !slices.Contains(out, d.From) {
			out = append(out, d.From)
		}
	}
	return out
}

func refuse(format string, args ...any) error {
	return &behaviour.Refusal{Reason: fmt.Sprintf(format, args...)}
}

// Fold adds to s what m says (R1). It returns a *Refusal, and leaves s as it was, if m
// does not fit the process table.
func (a *Activity) Fold(of behaviour.State, m message.Message) error {
	s := of.(*State)
	switch m.Kind {
	case message.KindConnector:
		return a.foldConnector(s, m)
	case message.KindSnapshot:
		snapshot, err := message.DecodeSnapshot(m.Body)
		if err != nil {
			return refuse("snapshot of %s: %v", a.Name, err)
		}
		if s.Snapshot == nil || m.Clock >= s.snapshotAt { // each replaces the one before, also where it overtook it
			if s.Snapshot != nil && s.Snapshot.Run != snapshot.Run {
				s.list = nil // an operator may have given it another input
			}
			s.Snapshot, s.snapshotAt = &snapshot, m.Clock
			s.dropReturns()
			s.dropElements()
			s.dropOffer()
		}
	case message.KindBegin:
		return a.foldBegin(s, m)
	case message.KindOffer:
		return a.foldOffer(s, m)
	case message.KindCancel:
		return a.foldCancel(s, m)
	case message.KindRecall:
		return a.foldRecall(s, m)
	case message.KindRecalled:
		return a.foldRecalled(s, m)
	case message.KindReturn:
		return a.foldReturn(s, m)
	case message.KindStart:
		return a.foldStart(s, m)
	case message.KindEvent:
		return a.foldEvent(s, m)
	case message.KindRecord:
		if a.Kind != processtable.KindSink || !a.top() {
			return refuse("an instance record is for sink, not for %s", a.Name)
		}
		record, err := message.DecodeRecord(m.Body)
		if err != nil {
			return refuse("instance record: %v", err)
		}
		s.Record = &record
	case message.KindNotice:
		if a.isBundle() {
			return a.foldNotice(s, m)
		}
		if a.Kind != processtable.KindSink || !a.top() {
			return refuse("a notice is for sink, not for %s", a.Name)
		}
		a.foldHappened(s, m)
	case message.KindMarker:
		s.Stop(m)
		return nil // the marker is the instance's, and stays (N7)
	case message.KindChunk:
		if !a.isBundle() {
			return refuse("%s is no bundle, and has no chunks", a.Name)
		}
		return a.foldChunk(s, m)
	case message.KindDue: // R19
	case message.KindTable, message.KindCurrent:
		return refuse("a process table is not for an activity")
	default:
		return refuse("message of unknown kind %d", m.Kind)
	}
	s.seen(m)
	return nil
}

// seen notes that m belongs to the set that s is a fold of, perhaps once more.
func (s *State) seen(m message.Message) {
	s.Note(m)
	if key := m.Key(); !slices.Contains(s.Keys, key) {
		s.Keys = append(s.Keys, key)
	}
}

func (a *Activity) foldConnector(s *State, m message.Message) error {
	if m.Definition != a.process.Definition() {
		return refuse("message from %s is of definition %s, the table of %s here of %s: the sites were given different definitions",
			m.Source, m.Definition, a.process.table.Process, a.process.Definition())
	}
	if m.Origin == "" {
		return refuse("message from %s does not say where the instance was started", m.Source)
	}
	if s.Origin != "" && m.Origin != s.Origin {
		return refuse("message from %s says that the instance was started at %s, and what came for %s before says at %s", m.Source, m.Origin, a.Name, s.Origin)
	}
	if m.SourceScope != m.Scope {
		return refuse("message from %s is from scope %q: no connector leads out of a composite", m.Source, m.SourceScope)
	}
	ci, hasControl := a.inControl[m.Source]
	di, hasData := a.inData[m.Source]
	if !hasControl && !hasData {
		return refuse("no connector leads from %s to %s", m.Source, a.Name)
	}
	if hasControl != (m.Control != message.Unresolved) {
		return refuse("control connector from %s to %s: the table and the message differ on whether there is one", m.Source, a.Name)
	}
	if hasData != (m.Data != message.DataNone) {
		return refuse("data connector from %s to %s: the table and the message differ on whether there is one", m.Source, a.Name)
	}
	if m.Onward && (!a.diesAlone || !m.Control.IsFalse() || m.OnBehalf != a.process.table.Node) {
		return refuse("message from %s says that %s was skipped on behalf of %s, which the table does not allow", m.Source, a.Name, m.OnBehalf)
	}
	if reason := a.process.contradicts(&m); reason != "" {
		return refuse("message from %s to %s: %s", m.Source, a.Name, reason)
	}
	var values []container.Value
	if hasData {
		var err error
		if values, err = a.values(di, m); err == nil {
			err = a.checkDoer(di, values)
		}
		if err != nil {
			return refuse("data from %s to %s: %v", m.Source, a.Name, err)
		}
	}
	if s.back.voids(&m) || s.control != nil && !s.supersedes(a, &m) { // R54
		s.seen(m)
		return nil
	}
	if s.control != nil && (hasControl && s.control[ci] != message.Unresolved || hasData && s.data[di] != message.DataNone) {
		if hasControl && s.control[ci] == m.Control { // a repeat: known while the activity lives (R1)
			s.die(a, m)
		}
		return nil
	}
	s.die(a, m)
	if s.control == nil {
		s.control = make([]message.Truth, len(a.InControl))
		s.data = make([]message.Data, len(a.InData))
		s.values = make([][]container.Value, len(a.InData))
		s.unresolved = len(a.InControl) + len(a.InData)
	}
	if hasControl {
		s.control[ci] = m.Control
		s.unresolved--
	}
	if hasData {
		s.data[di], s.values[di] = m.Data, values
		s.unresolved--
		s.bytes += container.Footprint(values)
		s.encoded += len(m.Body)
	}
	if a.First > 0 {
		s.arrive(&m)
	}
	s.back.came(&m)
	s.Note(m)
	s.Keys = append(s.Keys, m.Key())
	s.Consumed = append(s.Consumed, behaviour.Resolved{Key: m.Key(), Control: m.Control, Data: m.Data, Clock: m.Clock})
	return nil
}

// values are what a message of a data connector brings; nil: nothing.
func (a *Activity) values(connector int, m message.Message) ([]container.Value, error) {
	switch m.Data {
	case message.DataPresent:
		return container.DecodeValues(a.dataTypes[connector], m.Body)
	case message.DataWords:
		return container.DecodeValues(typesOf(sent(a.InData[connector].Mappings, m.Data)), m.Body)
	case message.DataNone, message.DataAbsent:
	}
	return nil, nil
}

// InputOf builds the input container of the current iteration (R5, R6), once all connectors
// are resolved. Each source is
// within the limit of a container; mapped together they need not be. That is looked at
// only where the messages are large enough for it.
func (a *Activity) InputOf(s *State) (*container.Struct, error) {
	return a.inputOf(s, (*container.Struct).Assign)
}

func (a *Activity) inputOf(s *State, set setter) (*container.Struct, error) {
	in, err := a.build(s, set)
	if err != nil || container.ZeroSize(a.Input)+s.encoded <= container.MaxEncoded {
		return in, err
	}
	if _, err := container.EncodeCBOR(in); err != nil {
		return nil, fmt.Errorf("input container of %s, of the data that was mapped to it: %w", a.Name, err)
	}
	return in, nil
}

// build is InputOf without regard to its size.
func (a *Activity) build(s *State, set setter) (*container.Struct, error) {
	if s.Snapshot != nil && s.Snapshot.Input != nil {
		v, err := container.DecodeCBOR(a.Input, s.Snapshot.Input)
		if err != nil {
			return nil, fmt.Errorf("read the input that iteration %d was given: %w", s.Snapshot.Iteration, err)
		}
		input, ok := v.(*container.Struct)
		if !ok {
			return nil, fmt.Errorf("input of iteration %d is no structure", s.Snapshot.Iteration)
		}
		return input, nil
	}
	if a.Begun() {
		return a.given(s)
	}
	in := container.New(a.Input)
	var first verdict
	if a.First > 0 {
		first = a.verdict(s)
	}
	for i, d := range a.InData {
		if s.data == nil || s.values[i] == nil || !a.joined(&first, d.From) {
			continue
		}
		if err := assign(in, sent(d.Mappings, s.data[i]), s.values[i], set); err != nil {
			return nil, fmt.Errorf("input container of %s, of the data that was mapped to it: %w", a.Name, err)
		}
	}
	return in, nil
}
