package navigator

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// A manual activity that is offered at several nodes (R47, R48): its home has the item, and decides who gets it; at each of the others a
// row of its name, begun by home for each iteration, shows the item to the people there.

// isOffer says whether the row is what offers a manual activity beside its home.
func (a *Activity) isOffer() bool { return a.Kind == processtable.KindManual && a.isWork() }

// prepareOffer makes ready where a manual activity is offered beside its home.
func (a *Activity) prepareOffer() {
	if a.Kind == processtable.KindManual && !a.isOffer() {
		a.elsewhere = a.Manual.Elsewhere(a.process.table.Node)
	}
}

// beginsOffers are the messages that begin the offers of an iteration (R47), and what all of them say.
func (a *Activity) beginsOffers(s *State, at *message.Snapshot, input *container.Struct) (begins []message.Message, body []byte, err error) {
	if len(a.elsewhere) == 0 {
		return nil, nil, nil
	}
	encoded, err := container.EncodeCBOR(input)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the input: %w", err)
	}
	body = message.EncodeBegin(message.Begin{Input: encoded, Did: a.Doers(s), Due: at.Deadline})
	for _, to := range a.offersOf(s, at) {
		m := a.onward(s, to.target)
		m.Kind, m.Lane, m.Scope, m.Body = message.KindBegin, message.LaneData, to.scope, body
		begins = append(begins, m)
	}
	return begins, body, nil
}

// offersOf are the entries that offer an iteration at other nodes.
func (a *Activity) offersOf(s *State, at *message.Snapshot) []addressee {
	all := make([]addressee, len(a.elsewhere))
	for i, node := range a.elsewhere {
		all[i] = addressee{target{activity: a.Name, node: node, control: -1, data: -1}, a.within(s, at)}
	}
	return all
}

// tellOffers tells those who offer an item how it is now: who has it, or that it is offered again (R48).
func (a *Activity) tellOffers(s *State, at *message.Snapshot, e *behaviour.Effects, w *behaviour.Work) {
	if len(a.elsewhere) == 0 {
		return
	}
	offer := at.Item.Offer(message.WordID{})
	if offer.By != (message.Doer{}) {
		offer.Asked = w.Asked
	}
	e.Outcome.Output = message.EncodeOffer(offer)
	for _, to := range a.offersOf(s, at) {
		m := a.onward(s, to.target)
		m.Kind, m.Lane, m.Scope, m.Number, m.Body = message.KindOffer, message.LaneData, to.scope, offer.Change(), e.Outcome.Output
		e.Put = append(e.Put, m)
	}
}

// withdrawOffers cancels the offers of an item that people lose, or that was completed (R48). A marker ends them by itself.
func (a *Activity) withdrawOffers(s *State, e *behaviour.Effects) {
	at := s.reached()
	if len(a.elsewhere) == 0 || at.Item == nil || s.Stopped || s.InError() {
		return
	}
	if what := e.Outcome.What; !e.Ends && what != behaviour.InError && what != behaviour.Iterated {
		return
	}
	reason := fmt.Sprintf("%s is not offered any more", a.Name)
	for i := range e.Lines {
		if line := &e.Lines[i]; line.What == behaviour.Completed {
			reason = fmt.Sprintf("%s has completed %s", line.By, a.Name)
		}
	}
	e.Put = append(e.Put, a.cancelsOf(s, a.offersOf(s, at), reason)...)
}

// foldOffer takes how an item is at its home (R48): of several what was said last.
func (a *Activity) foldOffer(s *State, m message.Message) error {
	if !a.isOffer() {
		return refuse("%s offers nothing of another node", a.Name)
	}
	o, err := message.DecodeOffer(m.Body)
	if err == nil && o.Change() != m.Number {
		err = fmt.Errorf("it has the number %d, and tells of change %d", m.Number, o.Change())
	}
	if err != nil {
		return refuse("offer of %s: %v", a.Name, err)
	}
	if s.offer == nil || o.Change() > s.offer.Change() {
		s.offer = &o
	}
	s.dropOffer()
	s.seen(m)
	return nil
}

// dropOffer lets go of what home has said of an item where the snapshot says as much, or more.
func (s *State) dropOffer() {
	if item := s.reached().Item; s.offer != nil && item != nil && s.offer.Change() <= item.Change() {
		s.offer = nil
	}
}

// told is an item with what home has said of it since; the same, where that is nothing new.
func (s *State) told(item *message.Item) *message.Item {
	if s.offer == nil {
		return item
	}
	next := *item
	next.Claim, next.By, next.Claimed, next.Asked = s.offer.Claim, s.offer.By, s.offer.Claimed, s.offer.Asked
	return &next
}

// follow keeps what home has said of an item since it was kept last.
func (a *Activity) follow(s *State, at message.Snapshot) behaviour.Effects {
	if !a.isOffer() || !slices.ContainsFunc(s.Keys, func(k message.Key) bool { return k.Kind == message.KindOffer }) {
		return behaviour.Effects{}
	}
	at.Item = s.told(at.Item)
	return a.keep(s, at, behaviour.Outcome{})
}

// offerEnded says what of the iteration's offers has ended elsewhere before this node, their home, lost its store (R49); empty:
// nothing, or somebody has the item, and can go on with it: his own node still offers it.
func (a *Activity) offerEnded(s *State, at *message.Snapshot) string {
	if len(a.elsewhere) == 0 || s.inner == nil {
		return ""
	}
	within, has := a.within(s, at), ""
	if at.Item != nil {
		_, has, _ = strings.Cut(at.Item.By.Person, "@")
	}
	nodes := a.process.table.WorkersOf(a.Name).Nodes
	for i := range s.inner.returns {
		r := &s.inner.returns[i]
		if r.scope == within && (has == "" || has == string(nodes[r.number-1])) {
			return r.err
		}
	}
	return ""
}

// offerAnew goes on to another run of the iteration, of which no offer has ended: those of this one that may still be there
// are cancelled, and the item is offered as if that were the first time (R49).
func (a *Activity) offerAnew(s *State, at message.Snapshot, ended string) behaviour.Effects {
	cancels := a.cancelsOf(s, a.offersOf(s, &at), ended)
	run := at.Run
	at.Item, at.Run = nil, at.Run+1
	e := a.keep(s, at, behaviour.Outcome{What: behaviour.Withdrawn, Iteration: at.Iteration, Run: run, Reason: ended})
	e.Put = append(e.Put, cancels...)
	return e
}

// ofHome says of which item at home an offer is.
func (a *Activity) ofHome(s *State, item *behaviour.Item) {
	entry := message.Entry{Instance: s.Entry.Instance, Scope: s.Entry.Scope.Leave(), Activity: a.Name}
	if frames, err := s.Entry.Scope.Frames(); err == nil && len(frames) > 0 {
		last := frames[len(frames)-1]
		item.At = message.Execution{Iteration: last.Iteration, Run: last.Run}
	}
	item.Home = &behaviour.Home{Node: a.around().node.At(s.Origin), Entry: entry}
	item.Due = a.dueOf(s, s.reached())
}

// dueOf is when the item of an activity is due: where it is offered beside its home, as that has said; zero: never.
func (a *Activity) dueOf(s *State, at *message.Snapshot) time.Time {
	if a.isOffer() && s.inner != nil {
		return s.inner.due
	}
	return at.Deadline
}

// offered says at home to whose people an item is offered.
func (a *Activity) offered(item *behaviour.Item) {
	item.Elsewhere = a.elsewhere
	item.Away = len(a.elsewhere) > 0 && !a.Manual.OfferedAt(a.process.table.Node, a.process.table.Node)
}

// offerAgain builds once more what begins an offer, or tells one of its item (S4): history has it as it was said.
func (a *Activity) offerAgain(m message.Message, s *behaviour.Spoken) message.Message {
	m.Body = s.Output
	return m
}

// offersAhead begins the offers of an item once they have room (S3).
func (a *Activity) offersAhead(s *State, now time.Time) behaviour.Effects {
	input, err := a.InputOf(s)
	if err != nil {
		return a.fail(s, s.progress(), message.CauseInput, err.Error(), now)
	}
	return a.manual(s, input, true, now)
}
