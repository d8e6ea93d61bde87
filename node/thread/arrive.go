package thread

import (
	"fmt"
	"slices"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// comes notes what is to be delivered now, and for which entries.
func (m *Machine) comes(all []record.Delivery) {
	for i := range all {
		m.coming[all[i].Entry] = all[i].Messages
	}
}

// leads says whether what is about to be delivered for an entry comes before msg in what is decided of it:
// it came first (N14). Of connectors that is so where it is cancelled, or begins with the first (R35), and of one that
// says the same, as where a store was lost; else an entry that lacks one is not decided in any case.
func (m *Machine) leads(key message.Entry, msg *message.Message) bool {
	newcomers, comes := m.coming[key]
	if !comes || msg.Kind == message.KindCancel {
		return comes
	}
	return m.beginsFirst(key) || slices.ContainsFunc(newcomers, func(n message.Message) bool {
		return n.Kind != message.KindConnector || n.Key() == msg.Key()
	})
}

// deliver takes newcomers of one entry.
func (m *Machine) deliver(d record.Delivery) {
	delete(m.coming, d.Entry)
	if d.Entry.Activity == "" {
		m.deliverInstance(d)
		return
	}
	m.browse.delivered(d.Entry)
	if len(d.Messages) > 0 {
		if d.Messages = m.withoutWords(d.Messages); len(d.Messages) == 0 {
			return
		}
	}
	e := m.table.Get(d.Entry)
	if e == nil {
		m.arrive(d, nil)
		return
	}
	if e.Phase == instancetable.Settling {
		e.Newcomers = append(e.Newcomers, d.Messages...)
		return
	}
	m.fold(e, d.Messages)
}

// arrival is an entry that is not in memory, new or evicted, while facts about it are read.
type arrival struct {
	key    message.Entry
	what   What
	given  []message.Message // delivered before it is read: the store has them, or they have gone
	since  []message.Message // delivered while it is read
	marker *message.Message  // came while it is read
	waits  bool              // a transaction takes messages from it: it is read once that has ended
	void   bool              // what is being read is not all, or not true any more
	words  []*word           // to be heard once it is here
}

// arrive is deliver for an entry that is not in memory; without messages those in the store
// are meant. w, if not nil, is heard once it is here, or it is known why not.
func (m *Machine) arrive(d record.Delivery, w *word) {
	m.acts++
	if a := m.arriving[d.Entry]; a != nil {
		a.join(d, w)
		return
	}
	what := m.lacking(d.Entry)
	if m.table.MayBeStored(d.Entry) || onlyDue(d.Messages) || lacksRecord(d.Entry, d.Messages) {
		what |= Messages
	}
	m.ask(d, what, w)
}

// ask reads what is lacking of an entry, and lets it in.
func (m *Machine) ask(d record.Delivery, what What, w *word) {
	takes := len(m.dropping) > 0 && m.dropping[d.Entry] > 0
	if what == 0 && !takes && w == nil {
		m.enter(d, nil, nil, nil)
		return
	}
	a := &arrival{key: d.Entry, what: what, given: d.Messages, waits: takes}
	if w != nil {
		a.words = append(a.words, w)
	}
	m.arriving[a.key] = a
	if !takes {
		m.load(a, a.what, a.key)
	}
}

// lacking says what is not known of an entry without reading.
func (m *Machine) lacking(key message.Entry) (what What) {
	if !m.lives.lasts(key) {
		what |= HowEnded
	}
	if !m.lives.unmarked(key.Instance) {
		what |= Marker
	}
	return what
}

// onlyDue: nothing but timers that have come is among them, and these make no entry.
func onlyDue(messages []message.Message) bool {
	return !slices.ContainsFunc(messages, func(m message.Message) bool { return m.Kind != message.KindDue })
}

// lacksRecord: an instance's record lies apart from what a browse of the queue finds,
// so sink's entry may have it in the store although nothing was evicted.
func lacksRecord(key message.Entry, newcomers []message.Message) bool {
	return key.Activity == processtable.Sink && key.Scope == "" &&
		!slices.ContainsFunc(newcomers, func(m message.Message) bool { return m.Kind == message.KindRecord })
}

// join adds what comes while it is read.
func (a *arrival) join(d record.Delivery, w *word) {
	a.since = append(a.since, d.Messages...)
	if len(d.Messages) == 0 {
		a.void = true // the store may have more than was asked for
	}
	if w != nil {
		a.words = append(a.words, w)
	}
}

// loaded lets the entry in, unless what was read is void.
func (a *arrival) loaded(m *Machine, facts []Facts) {
	if a.void {
		a.given, a.since, a.void = append(a.given, a.since...), nil, false
		a.what = m.lacking(a.key) | Messages
		if a.waits = m.dropping[a.key] > 0; !a.waits {
			m.load(a, a.what, a.key)
		}
		return
	}
	delete(m.arriving, a.key)
	f := facts[0]
	messages := a.given
	if a.what&Messages != 0 {
		messages = f.Messages
		noteBringers(messages, a.given)
	}
	marker := f.Marker
	if a.marker != nil {
		marker = a.marker
	}
	m.enter(record.Delivery{Entry: a.key, Messages: joined(messages, a.since)}, marker, f.Marks, f.End)
	for _, w := range a.words {
		m.hear(w, &sight{end: f.End, stopped: marker != nil})
	}
}

func (a *arrival) unread(m *Machine, err error) {
	delete(m.arriving, a.key)
	for _, w := range a.words {
		m.answer(w, NotDone, err.Error())
	}
}

// joined are messages, with those that came since in the place of what they replace.
func joined(messages, since []message.Message) []message.Message {
	for i := range since {
		key := since[i].Key()
		if at := slices.IndexFunc(messages, func(m message.Message) bool { return m.Key() == key }); at >= 0 {
			messages[at] = since[i]
		} else {
			messages = append(messages, since[i])
		}
	}
	return messages
}

// noteBringers notes with stored messages who has brought them, as far as they were delivered
// just now.
func noteBringers(stored, delivered []message.Message) {
	from := map[message.Key]processtable.NodeID{}
	for i := range delivered {
		if delivered[i].From != "" {
			from[delivered[i].Key()] = delivered[i].From
		}
	}
	if len(from) == 0 {
		return
	}
	for i := range stored {
		stored[i].From = from[stored[i].Key()]
	}
}

// enter makes the entry of messages that are in the store, and considers it.
func (m *Machine) enter(d record.Delivery, marker *message.Message, marks []message.Marked, end *record.AuditRecord) {
	key := d.Entry
	if d.Messages = m.withoutWords(d.Messages); len(d.Messages) == 0 {
		return
	}
	if onlyDue(d.Messages) {
		m.drop(key, d.Messages, nil) // the entry took the timer away at the moment at which it came
		return
	}
	a := m.process.Activity(key.Row())
	if a == nil {
		m.setAside(key, d.Messages, m.notHosted(key))
		return
	}
	if reason := m.unfounded(key, d.Messages); reason != "" {
		m.setAside(key, d.Messages, reason)
		return
	}
	if end != nil && m.cannotBegin(d, *end) {
		return
	}
	if end != nil && end.Process == m.id() && recalling(d.Messages) { // N30: it has a life beside its end
		end = nil
	}
	switch {
	case m.another(end) != "" && marker != nil && marker.Origin == startedAt(d.Messages): // N7: what arrives is absorbed
		m.drop(key, d.Messages, nil)
		return
	case m.another(end) != "":
		m.setAside(key, d.Messages, m.another(end))
		return
	case end != nil && (end.Event == record.EventStopped || end.Event == record.EventCancelled || end.Event == record.EventThinned): // N7, N16, N25: what arrives is absorbed
		m.drop(key, d.Messages, nil)
		return
	case end != nil: // N7
		m.late(key, *end, d.Messages)
		return
	}
	e := instancetable.NewEntry(key, a)
	if marker != nil {
		e.Known.Origin = startedAt(d.Messages)
		e.Known.Stop(*marker)
	}
	tellMarks(e, marks, startedAt(d.Messages))
	m.table.Add(e)
	m.fold(e, d.Messages)
}

func (m *Machine) notHosted(key message.Entry) string {
	return fmt.Sprintf("activity %s of %s is not hosted at %s", key.Activity, m.id(), m.self)
}

// another says that an end is of another process's instance, or nothing. Whoever may start that one has
// given it the same identifier, and the store keeps one end of the two: what comes for this one is neither
// late nor stopped, but nothing here could end with it.
func (m *Machine) another(end *record.AuditRecord) string {
	if end == nil || end.Process == m.id() {
		return ""
	}
	what := fmt.Sprintf("activity %s of %s", end.Activity, end.Process)
	if end.Removed != nil {
		what = fmt.Sprintf("an instance of %s", end.Process)
	}
	return fmt.Sprintf("%s has ended here under the same instance identifier, so it cannot go on here: start the instance of %s under an identifier of its own", what, m.id())
}

// unfounded says why no entry may be made of messages, whoever has put them: an older
// version of this program has taken from peers what none may send. Or nothing.
func (m *Machine) unfounded(key message.Entry, messages []message.Message) string {
	if reason := m.misplaced(key); reason != "" {
		return reason
	}
	for i := range messages {
		if origin := messages[i].Origin; origin != "" && !m.process.Table().MayStart(origin) {
			return fmt.Sprintf("it says that its instance was started at %s, and %s may not be started there", origin, m.id())
		}
	}
	return ""
}

// misplaced says why there can be no such entry (N10), or nothing.
func (m *Machine) misplaced(key message.Entry) string {
	return behaviour.Misplaced(m.process.Table(), key.Activity, key.Scope)
}

// startedAt is where the instance of an entry's messages was started.
func startedAt(messages []message.Message) processtable.NodeID {
	for i := range messages {
		if origin := messages[i].Origin; origin != "" {
			return origin
		}
	}
	return ""
}
