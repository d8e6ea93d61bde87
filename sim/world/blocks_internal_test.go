package world

import (
	"testing"
	"time"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// looping is a process whose block runs more than once, over two sites.
const looping = `
structures: {S: {i0: int}}
starts: [A]
activities:
  before: {node: C, program: many}
  b:
    node: B
    output: S
    exit: i0 == 2
    activities:
      b1: {node: A, program: many, output: S}
      b2: {node: B, program: many}
    control: [b1 -> b2]
    data: [b1 -> sink]
  after: {node: D, program: many}
control: [before -> b, b -> after]
`

// N12, N18: what begins an iteration of a block comes with the block's state; what came back of the
// one before, which has ended, is taken then, and never otherwise.
func TestHowAnIterationBeginsIsSeen(t *testing.T) {
	block := message.Entry{Activity: "b"}
	in := func(scope message.Scope, a processtable.ActivityID) message.Entry {
		return message.Entry{Scope: scope, Activity: a}
	}
	begin := message.Key{Kind: message.KindBegin, Source: "b"}
	back := message.Key{Kind: message.KindReturn, Source: processtable.Sink, Scope: "b#1"}
	state := message.Key{Kind: message.KindSnapshot}
	ends := func(e message.Entry) record.AuditRecord {
		return record.AuditRecord{Scope: e.Scope, Activity: e.Activity, Event: record.EventTerminated}
	}
	for what, c := range map[string]struct {
		does   func(*shadow, *transaction)
		breaks string
	}{
		"the first one begins": {func(_ *shadow, tx *transaction) {
			tx.put[block], tx.put[in("b#1", "source")] = []message.Key{state}, []message.Key{begin}
		}, ""},
		"it begins, and its source ends at once": {func(_ *shadow, tx *transaction) {
			tx.put[block], tx.records = []message.Key{state}, []record.AuditRecord{ends(in("b#1", "source"))}
		}, ""},
		"its source ends later": {func(d *shadow, tx *transaction) {
			d.messages[in("b#1", "source")] = map[message.Key]bool{}
			tx.removed[in("b#1", "source")], tx.records = []message.Key{begin}, []record.AuditRecord{ends(in("b#1", "source"))}
		}, ""},
		"the block does not say so": {func(_ *shadow, tx *transaction) {
			tx.put[in("b#1", "source")] = []message.Key{begin}
		}, "3"},
		"the block does not say so, and its source ends at once": {func(_ *shadow, tx *transaction) {
			tx.records = []record.AuditRecord{ends(in("b#1", "source"))}
		}, "3"},
		"the next one begins": {func(d *shadow, tx *transaction) {
			d.ended[in("b#1", "sink")] = true
			tx.put[block], tx.put[in("b#2", "source")] = []message.Key{state}, []message.Key{begin}
		}, ""},
		"the next one begins, and the one before goes on": {func(_ *shadow, tx *transaction) {
			tx.put[block], tx.put[in("b#2", "source")] = []message.Key{state}, []message.Key{begin}
		}, "4"},
		"the tenth begins, and the first has ended": {func(d *shadow, tx *transaction) {
			d.ended[in("b#1", "sink")] = true
			tx.put[block], tx.put[in("b#10", "source")] = []message.Key{state}, []message.Key{begin}
		}, "4"},
		"what came back stays": {func(d *shadow, tx *transaction) {
			d.ended[in("b#1", "sink")] = true
			d.messages[block] = map[message.Key]bool{back: true, state: true}
			tx.put[block], tx.put[in("b#2", "source")] = []message.Key{state}, []message.Key{begin}
		}, "3"},
		"what came back goes, and the block does not go on": {func(_ *shadow, tx *transaction) {
			tx.removed[block] = []message.Key{back}
		}, "3"},
		"what came back goes, and the block has iterated": {func(_ *shadow, tx *transaction) {
			tx.removed[block], tx.records = []message.Key{back}, []record.AuditRecord{{Activity: "b", Event: record.EventIterated}}
		}, ""},
	} {
		w := newWorld(given(1, looping), Options{})
		s := w.site("B")
		d, tx := w.watch.shadows["B"], newTransaction()
		c.does(d, tx)
		w.watch.judge(s, d, tx)
		if got := w.broken; (got == nil) != (c.breaks == "") || got != nil && got.Invariant != c.breaks {
			t.Errorf("%s: %v, want %q", what, got, c.breaks)
		}
	}
}

// S4: a block's home loses its disk when the block has ended, while the instance goes on. What was
// inside is sent again before the block begins again: it comes back too early, and waits for that.
func TestS4WhatIsInsideComesBackBeforeItsBlockBegins(t *testing.T) {
	p := given(1, looping)
	p.Events = []Event{
		{At: 2 * time.Second, Do: Stop, Site: "D", For: time.Hour},
		{At: 30 * time.Second, Do: Lose, Site: "B", For: time.Second},
	}
	r := Run(p, Options{Lines: true})
	if r.Broken != nil {
		t.Fatal(Story(r))
	}
	if !says(r, "B loses its disk") || !says(r, "runs b#2/b2") {
		t.Errorf("it has lost nothing of two iterations\n%s", Story(r))
	}
}

// N17: a site of the version before is named where tables with blocks are uploaded. What it cannot
// read waits apart where it is not heard, and all goes on once it is upgraded.
func TestN17ASiteOfTheVersionBeforeIsNamed(t *testing.T) {
	for what, c := range map[string]struct {
		events []Event
		says   string
	}{
		"it is heard":     {nil, "C is upgraded"},
		"it is not heard": {[]Event{{At: time.Second / 2, Do: Stop, Site: "C", For: 20 * time.Second}}, "keeps apart a message for C, which needs"},
	} {
		p := given(1, looping)
		p.Before = []name{"C"}
		p.Events = append(c.events, Event{At: 40 * time.Second, Do: Upgrade, Site: "C", For: time.Second})
		r := Run(p, Options{Lines: true})
		if r.Broken != nil {
			t.Fatal(Story(r))
		}
		if named := r.Met["unread"] > 0; !named || !says(r, c.says) {
			t.Errorf("%s: named in an upload: %t\n%s", what, named, Story(r))
		}
	}
}

// N17: an upload in which a site of the version before takes what it cannot read, or is not named.
func TestN17WhatAnUploadSaysOfTheVersionBefore(t *testing.T) {
	p := given(1, looping)
	p.Before = []name{"C"}
	for what, c := range map[string]struct {
		line api.UploadNode
		seen bool
	}{
		"it is named":            {api.UploadNode{Plan: api.PlanRefuse, Reason: "C reads process tables up to format 3, and this is of 5"}, false},
		"it is not heard":        {api.UploadNode{Plan: api.PlanUnknown, Result: api.ResultQueued}, false},
		"it is refused for more": {api.UploadNode{Plan: api.PlanRefuse, Reason: "it is not trusted"}, true},
		"it takes it":            {api.UploadNode{Plan: api.PlanAdd}, true},
		"it has stored it":       {api.UploadNode{Plan: api.PlanUnknown, Result: api.ResultStored}, true},
	} {
		w := newWorld(p, Options{})
		var answer api.UploadAnswer
		for _, table := range w.cases[0].upload.Tables {
			line := api.UploadNode{Plan: api.PlanAdd}
			if table.Node == "C" {
				line = c.line
			}
			line.Node, line.Process = table.Node, table.Process
			answer.Nodes = append(answer.Nodes, line)
		}
		if wrong := w.uploadOf(w.cases[0], answer); (wrong != "") != c.seen {
			t.Errorf("%s: %q", what, wrong)
		}
	}
}
