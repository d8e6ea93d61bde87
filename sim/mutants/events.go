package main

// signals is the kind of processes that have them.
const signals = "signals"

// givenLate: an event is given to a receive a while after that was decided, when the receive may be over, or its round. The
// committer does not notice, and no harm is done: it goes back. That it comes for what has ended is not held against it
// (invariant 5), so that worlds judge what becomes of it then.
var givenLate = []change{
	{"node/execute/turn.go", "	t.of.Queue.Submit(tx)\n", "	if tx.Consume[0].Entry.Activity == processtable.EventMeets {\n		t.programs.Go(func() {\n			_ = task.Sleep(t.life, t.of.Scheduler, 200_000_000)\n			t.of.Queue.Submit(tx)\n		})\n		return\n	}\n	t.of.Queue.Submit(tx)\n"},
	{"sim/world/transaction.go", "case k.Kind == message.KindDue, k.Kind == message.KindCancel, ", "case k.Kind == message.KindEvent, k.Kind == message.KindDue, k.Kind == message.KindCancel, "},
}

// ofEvents are those of events (N24).
var ofEvents = []mutant{
	{"given-twice", "an event is given to a receive, and stays for the next", "3 races ends", signals, []change{
		{"event/decide.go", "	d.takeEvent(p)\n	d.take(keyOf(message.KindWait, waiting))\n", "	d.take(keyOf(message.KindWait, waiting))\n"},
	}},
	{"put-back-last", "an event that is put back comes last in its queue", "races", signals, []change{
		{"event/state.go", "		if e.Arrival != (message.Arrival{}) { // E2\n			order = e.Arrival\n", "		if e.Arrival != (message.Arrival{}) { // E2\n"},
	}},
	{"last-first", "of events that wait the one that came last is given first", "races", signals, []change{
		{"event/line.go", "cmp.Or(p.order.Compare(q.order), ", "cmp.Or(q.order.Compare(p.order), "},
	}},
	{"wait-over", "a receive that waits no more is given an event all the same", "3 5 races ends", signals, []change{
		{"event/decide.go", "		d.take(keyOf(message.KindWait, k.Source))\n", ""},
	}},
	{"waits-stay", "a receive whose round is over goes on waiting for its other events", "ends", signals, []change{
		{"navigator/event.go", "		e.Put = append(e.Put, a.unwait(s, &at, came)...)\n", ""},
	}},
	{"not-put-back", "what had come beside the event that a receive takes is lost", "3", signals, []change{
		{"navigator/event.go", "		if !used {\n			back", "		if !used && !current {\n			back"},
	}},
	{"late-match", "an event is given to a receive of which the end has been written meanwhile", "5", signals, []change{
		{"queue/commit/stale.go", "m != nil && (m.newest > 0 ||", "m != nil && (m.newest > 0 && k.Entry.Activity != processtable.EventMeets ||"},
	}},
	// The committer refuses that, so what a receive does with such an event shows only where it comes: both defences go.
	{"absorbed", "an event that comes for a receive that is over is absorbed", "3", signals, append([]change{
		{"node/thread/signal.go", "		back = append(back, kept)\n", ""},
	}, givenLate...)},
	{"sent-apart", "a send ends, and its event goes in another transaction", "3", signals, []change{
		{"node/execute/turn.go", "	t.of.Queue.Submit(tx)\n", "	rest, done := &record.Tx{}, tx.Done\n	for i := 0; i < len(tx.Put); i++ {\n		if m := tx.Put[i]; m.Kind == message.KindEvent && m.Activity == processtable.EventMeets && len(tx.Audit) > 0 {\n			rest.Put, tx.Put = append(rest.Put, m), append(tx.Put[:i:i], tx.Put[i+1:]...)\n			i--\n		}\n	}\n	tx.Done = func(err error) {\n		if done(err); err == nil && len(rest.Put) > 0 {\n			t.programs.Go(func() { t.of.Queue.Submit(rest) })\n		}\n	}\n	t.of.Queue.Submit(tx)\n"},
	}},
	{"sent-anew", "an event that is sent in another iteration is taken for the one before", "3 7 races ends", signals, []change{
		{"message/event.go", "append([]string{string(e.Node)}, e.Sender.names()...), e.Sender.Iteration, e.Sender.Run)", "[]string{string(e.Node), e.Sender.Instance.String()}, 0, 0)"},
	}},
	{"any-key", "events meet receives whatever their keys", "races ends", signals, []change{
		{"message/event.go", "string(shape[:]), key})", "string(shape[:]), key[:0]})"},
	}},
	{"identifier-forgotten", "that an event of elsewhere was taken is not remembered", "races", signals, []change{
		{"event/decide.go", "	if e.Sender == nil || e.Node != d.node { // what", "	if false { // what"},
	}},
	{"too-old", "an event that is too old is not set aside", "ends", signals, []change{
		{"event/decide.go", "	for _, k := range d.dues {", "	for _, k := range d.dues[len(d.dues):] {"},
	}},
	{"round-before", "a receive takes what was given to its round before", "races 7 ends", signals, append([]change{
		{"navigator/event.go", "return at.Begun && *r.event.Taker == message.Round{Iteration: at.Iteration, Run: at.Run}", "return at.Begun"},
	}, givenLate...)},
}
