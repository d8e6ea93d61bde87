package navigator

import (
	"testing"
	"time"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// R51: where an activity is offered beside its home its notices for people come too, by the clock there: with what home has told of the
// item, without programs, and until the offer ends.
func TestR51ANoticeWhereAnItemIsOffered(t *testing.T) {
	hour := processtable.Moment{Fixed: int64(time.Hour)}
	home, _, sent := atHome(t, func(m *model) {
		m.set("approve", func(row *processtable.Activity) {
			row.Deadline = &processtable.Moment{Fixed: int64(24 * time.Hour)}
			row.Notify = []processtable.Notice{{First: hour, Program: "remind"}, {First: hour, Program: "call", Staff: asking(t, processtable.WhoManages, "approve")}, {First: hour}}
		})
	}, lab)
	var begin message.Message
	for _, m := range sent {
		if m.Kind == message.KindBegin {
			begin = m
		}
	}
	there, offer := offerAt(t, home, lab, begin)
	fold(t, there, offer, begin)
	later := noon.Add(3 * time.Hour) // so long it was on its way
	begun := there.Decide(offer, later)
	kept(t, there, offer, begun)
	e := there.Decide(offer, later)
	if tales(e) != "offered" {
		t.Fatalf("there it comes to %s", show(there.process, e))
	}
	kept(t, there, offer, e)

	n := there.process.Activity(processtable.RowID{Name: "approve", Inside: processtable.Noticing}).(*notice)
	for number, holder := range []bool{false, true} {
		s := n.Empty(message.Entry{Instance: offer.Entry.Instance, Scope: offer.Entry.Scope.Notice(number), Activity: "approve"}).(*noticed)
		for _, m := range begun.Put {
			if m.Scope == s.Entry.Scope {
				n.follow(t, s, behaviour.Effects{Put: []message.Message{m}})
			}
		}
		if s.at == nil || !s.at.Due.Equal(later.Add(time.Hour)) {
			t.Fatalf("notice %d is due as %+v says", number, s.at)
		}
		n.follow(t, s, n.Decide(s, later))
		n.comes(t, s)
		come := n.Decide(s, later.Add(time.Hour))
		if n.follow(t, s, come); come.Invoke != nil || come.Outcome.What != behaviour.Escalated {
			t.Errorf("notice %d comes to %s", number, show(there.process, come))
		}
		i := n.Item(s)
		if i == nil || i.Title != "Approve 3 of tyres" || i.Notice.Of != offer.Entry || i.Notice.Holder != holder || !i.Due.Equal(noon.Add(24*time.Hour)) {
			t.Errorf("notice %d: people are shown %+v", number, i)
		}
	}

	fold(t, there, offer, message.Message{Header: message.Header{Instance: offer.Entry.Instance, Scope: offer.Entry.Scope, Activity: "approve", Source: "approve", Kind: message.KindCancel}, Body: message.EncodeCancel(message.Cancel{Reason: "it is over"})})
	end := there.Decide(offer, later)
	if got := saysTo(sentOn(end)); !end.Ends || got != "cancel L approve#1/source[0]/approve, cancel L approve#1/source[1]/approve" {
		t.Errorf("when the offer ends it sends %s", got)
	}
}
