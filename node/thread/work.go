package thread

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/processtable"
)

// What people say about a work item (N27, N28). Before somebody is given one, the staff of this node is asked whether he may
// have it: that holds for the moment of the answer, in which the word is carried out or refused.

// inquiry is what was asked of the staff for a word, and the answer.
type inquiry struct {
	at    message.Execution
	found *Found
}

// show tells how the item of an entry is, if there can be one.
func (m *Machine) show(e *instancetable.Entry) {
	if b, is := e.Behaviour.(behaviour.Offering); is && b.Offers() {
		m.do(Show{e.Key, b.Item(e.State), suspended(e)})
	}
}

// offers says whether there can be an item of an entry.
func (m *Machine) offers(key message.Entry) bool {
	b, is := m.process.Activity(key.Row()).(behaviour.Offering)
	return is && b.Offers()
}

// offersAny says whether there can be an item of any entry.
func (m *Machine) offersAny() bool {
	return slices.ContainsFunc(m.process.Table().Activities, func(a *processtable.Activity) bool {
		return a.Kind == processtable.KindManual || len(a.Notify) > 0
	})
}

// unshow tells that there is no item of an entry any more.
func (m *Machine) unshow(key message.Entry) {
	if m.offers(key) {
		m.do(Show{Entry: key})
	}
}

// work carries out a person's word, or says why not.
func (m *Machine) work(w *word, c *command, e *instancetable.Entry) {
	b, is := e.Behaviour.(behaviour.Offering)
	var item *behaviour.Item
	if is && e.Phase == instancetable.Waiting {
		item = b.Item(e.State)
	}
	if item == nil {
		why := "it is not offered to anybody"
		if is && e.Phase != instancetable.Waiting && b.Item(e.State) != nil { // a notice, whose next time has come
			why = "its program is about to run, or runs: say it again once that has ended"
		}
		m.refuseWord(w, true, "%s: %s", c.name(), why)
		return
	}
	if by := suspendedBy(e); by != nil { // what was saved is kept; he goes on after the resume (N29)
		m.refuseWord(w, true, "%s: %s", c.name(), by.Text())
		return
	}
	if refused := c.vouches(m.self, item); refused != "" {
		m.refuseWord(w, true, "%s: %s", c.name(), refused)
		return
	}
	if !m.isAsked(w, c, item) {
		return
	}
	say, refused := c.work(m.self, item)
	if refused != "" {
		m.refuseWord(w, true, "%s: %s", c.name(), refused)
		return
	}
	effects, slow, err := m.follows(e, c.after(e), say, c.judged)
	switch {
	case err != nil && len(container.All(err)) > 0:
		m.wrongContainer(w, c, "output", err)
	case err != nil:
		m.refuseWord(w, true, "%s: %v", c.name(), err)
	case slow != nil:
		m.evaluate(w, e, slow)
	case effects.Waits(): // it is so already: twice is done once
		m.reply(w, message.Answer{Result: message.WordDone}, false)
	default:
		m.carry(w, c, e, &effects, nil)
	}
}

// isAsked says whether the staff has answered what a word needs to know of it, and else asks. What was answered about
// another execution does not count.
func (m *Machine) isAsked(w *word, c *command, item *behaviour.Item) bool {
	if c.inquiry != nil && c.inquiry.at == item.At {
		return c.inquiry.found != nil
	}
	people, over := c.asks(item)
	c.inquiry = &inquiry{at: item.At}
	if len(people) == 0 && (over == "" || c.vouched(m.self)) {
		c.inquiry.found = &Found{}
		return true
	}
	ask := Inquire{Token: m.next(), Entry: c.message.Entry(), Item: item, People: people, Over: over}
	if c.vouched(m.self) {
		ask.People, ask.Over = nil, ""
		for _, person := range people {
			ask.Vouched = append(ask.Vouched, c.standsIn(person))
		}
	}
	m.inquiring[ask.Token] = w
	m.do(ask)
	return false
}

// vouched says whether a word is of somebody of another node, which offers the item, and has put it to this one as a question: a
// word that a link has brought wants an answer, and is for this node's staff to judge.
func (c *command) vouched(self processtable.NodeID) bool {
	return c.order.Site != self && !c.order.Reply && slices.Contains(message.OfWork, c.order.Wish)
}

// vouches says why a node may not speak for its people about an item; empty: it may, or nobody does.
func (c *command) vouches(self processtable.NodeID, item *behaviour.Item) string {
	o := &c.order
	if !c.vouched(self) {
		return ""
	}
	for _, person := range []string{o.Person, o.To, o.For, o.ToFor} {
		if person != "" && !isOf(person, o.Site) {
			return fmt.Sprintf("%s cannot speak for %s", o.Site, person)
		}
	}
	if !slices.Contains(item.Elsewhere, o.Site) {
		return fmt.Sprintf("it is not offered at %s", o.Site)
	}
	return ""
}

// isOf says whether a person is of a node.
func isOf(person string, node processtable.NodeID) bool {
	return strings.HasSuffix(person, "@"+string(node))
}

// standsIn is somebody of whom a word is, with whom he stands in for.
func (c *command) standsIn(person string) message.Doer {
	if o := &c.order; o.Wish == message.WishTransfer {
		return message.Doer{Person: person, For: o.ToFor}
	}
	return message.Doer{Person: person, For: c.order.For}
}

// over says whether who says a word may take the item from others: an operator, who administers the process, or who is told that
// it is late; of another node from its own people only, as that has found out.
func (c *command) over(self processtable.NodeID, item *behaviour.Item) bool {
	if c.vouched(self) {
		return (c.order.Operator != "" || c.order.Over) && isOf(item.By.Person, c.order.Site)
	}
	return c.order.Operator != "" || c.inquiry.found.Over
}

// asks says of whom the staff is asked for a word: who says it where he is given the item by that; to whom it is
// transferred; and whether he may take it from others, where it is not his and he is no operator.
func (c *command) asks(item *behaviour.Item) (people []string, over string) {
	o := &c.order
	if o.Wish == message.WishClaim || o.Wish == message.WishComplete && item.By == (message.Doer{}) {
		people = append(people, o.Person)
	}
	if o.Wish == message.WishTransfer {
		people = append(people, o.To)
	}
	if taking := o.Wish == message.WishTransfer || o.Wish == message.WishRelease; taking && item.By.Person != o.Person && o.Operator == "" {
		over = o.Person
	}
	return people, over
}

// inquired goes on with a word of which the staff was asked.
func (m *Machine) inquired(e Found) {
	w := m.inquiring[e.Token]
	delete(m.inquiring, e.Token)
	if w == nil {
		return
	}
	if c := w.say.(*command); c.inquiry != nil {
		c.inquiry.found = &e
	}
	m.hear(w, nil)
}

// work is the word for the behaviour, with what the staff has answered; refused, if not empty, says why he may
// not say it.
func (c *command) work(self processtable.NodeID, item *behaviour.Item) (w behaviour.Work, refused string) {
	o, found := &c.order, c.inquiry.found
	w = behaviour.Work{
		Wish: o.Wish, By: message.Doer{Person: o.Person}, Over: c.over(self, item), Claim: o.Claim, Output: o.Output,
		Operator: c.operator(), Why: o.Why,
	}
	if c.vouched(self) {
		w.Asked = o.ID
	}
	if item.By.Person == o.Person {
		w.By = item.By
	}
	for i, may := range found.May {
		who := o.Person
		if o.Wish == message.WishTransfer {
			who, w.To = o.To, may.Doer
		} else {
			w.By = may.Doer
		}
		if !found.May[i].Is {
			return w, MayNot(who, found.May[i].Why, found.Could)
		}
	}
	return w, ""
}

// operator is who says a word in a person's name, or in nobody's; empty: the person himself, or it is no word of people.
func (c *command) operator() string {
	if o := &c.order; o.Operator != "" && slices.Contains(message.OfWork, o.Wish) {
		return message.OperatorAt(o.Operator, o.Site)
	}
	return ""
}

// MayNot says for people that somebody may not have an item, why, and who could.
func MayNot(who, why, could string) string {
	text := cmp.Or(who, "who asks, who is no person of this node's staff,") + " may not have it"
	if why != "" {
		text += ": " + why
	}
	if could != "" {
		text += "; " + could
	}
	return text
}
