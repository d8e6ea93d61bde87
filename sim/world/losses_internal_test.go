package world

import (
	"testing"

	"fmqm/definition"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/oracle"
)

// Invariants 3 and 5 after the loss of a store: of an instance in which that site has a part a message
// may come once more for what has ended, and go. Nothing else is excused, and nothing of any other instance.
func TestAfterALossOnlyRepeatsAreExcused(t *testing.T) {
	const apart, part = `
starts: [A]
activities:
  a: {node: A, program: many}
  b: {node: B, program: many}
control: [a -> b]
`, `
starts: [A]
activities:
  a: {node: A, program: many}
  b: {node: D, program: many}
control: [a -> b]
`
	k := message.Key{Kind: message.KindConnector, Source: "source"}
	goes := func(e message.Entry, _ *shadow, tx *transaction) { tx.removed[e] = []message.Key{k} }
	comes := func(e message.Entry, d *shadow, tx *transaction) {
		d.messages[e] = map[message.Key]bool{k: true}
		tx.put[e] = []message.Key{k}
	}
	ends := func(r record.AuditRecord) func(message.Entry, *shadow, *transaction) {
		return func(e message.Entry, _ *shadow, tx *transaction) {
			r.Instance, r.Activity, r.Event = e.Instance, e.Activity, record.EventTerminated
			tx.records = append(tx.records, r)
		}
	}
	sends := ends(record.AuditRecord{Sent: []record.Sent{{Target: "b", Node: "B"}}})
	takes := ends(record.AuditRecord{Consumed: []record.Consumed{{Key: k}}})
	for _, c := range []struct {
		what     string
		instance int // 1: the site that is lost has a part in it
		ended    bool
		does     func(message.Entry, *shadow, *transaction)
		breaks   string
	}{
		{"a message goes of what has not ended, elsewhere", 0, false, goes, "3"},
		{"a message goes of what has not ended", 1, false, goes, "3"},
		{"a message goes of what has ended, elsewhere", 0, true, goes, "3"},
		{"a message goes of what has ended", 1, true, goes, ""},
		{"a message comes for what has ended, elsewhere", 0, true, comes, "5"},
		{"a message comes for what has ended", 1, true, comes, ""},
		{"what is sent is not there, elsewhere", 0, false, sends, "3"},
		{"what is sent is not there", 1, false, sends, "3"},
		{"what is taken is not there, elsewhere", 0, false, takes, "3"},
		{"what is taken is not there", 1, false, takes, "3"},
	} {
		for _, at := range []name{"A", "D"} {
			w := newWorld(given(1, apart, part), Options{})
			w.begin()
			w.doubt(w.site("D"))
			e := message.Entry{Instance: w.clients[c.instance].instance.ID, Activity: processtable.ActivityID("a")}
			d, tx := w.watch.shadows[at], newTransaction()
			d.ended[e] = c.ended
			c.does(e, d, tx)
			broken := ""
			if w.watch.judge(w.site(at), d, tx); w.broken != nil {
				broken = w.broken.Invariant
			}
			if broken != c.breaks {
				t.Errorf("%s, at %s: breaks %q, want %q", c.what, at, broken, c.breaks)
			}
		}
	}
}

// N20: a site where the work of a call may be done has a part in the process, and can lose what it has done of it.
func TestN20WhoDoesTheWorkOfACallHasAPart(t *testing.T) {
	p := &prepared{origin: "A", places: map[string]oracle.Place{
		"a": {Activity: &definition.Activity{Node: "B", Call: &definition.Call{Of: []string{"B", "C"}}}},
	}}
	for at, want := range map[name]bool{"A": true, "B": true, "C": true, "D": false} {
		if p.hasPart(at) != want {
			t.Errorf("%s has a part: %t", at, !want)
		}
	}
}
