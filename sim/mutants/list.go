package main

import "slices"

// mutants are all of them.
var mutants = slices.Concat(ofAll, ofBundles, ofEvents, ofTimes, ofHands, ofRestarts, ofPeople, ofTold, ofVersions)

// racing is the kind of processes in which activities end otherwise than by themselves.
const racing = "racing"

// ofAll are those of what every process has, of blocks, of ends before their time and of subprocesses.
var ofAll = []mutant{
	// What is confirmed is what the store says that it has, so an answer under another token does no
	// harm by itself: both defences go, as they once were not there.
	{"stale-answer", "the answer to an accept of before a reload counts for the one that is under way", "5 ends", "", []change{
		{"link/core/decision.go", "if c.in[l].under != nil || c.out[l].reading != 0 {", "if c.out[l].reading != 0 {"},
		{"link/core/lane.go", "if u == nil || u.token != e.Token {", "if u == nil {"},
		{"link/core/lane.go", "r.under, r.accepted = nil, e.At", "r.under, r.accepted = nil, u.end"},
		{"link/core/lane.go", "if e.Err == nil && e.At != u.end {", "if e.Err == nil && e.At != e.At {"},
	}},
	// The committer takes nothing that does not follow on what it has, so the second accept of the
	// same messages is refused there: both defences go.
	{"reload-in-accept", "a link begins anew while an accept is under way, and the committer believes it", "5", "", []change{
		{"link/core/decision.go", "if c.in[l].under != nil || c.out[l].reading != 0 {", "if c.out[l].reading != 0 {"},
		{"queue/commit/group.go", "case a.Count > to.Number || to.Number-a.Count != at.Number:", "case a.Count > to.Number:"},
		{"queue/commit/group.go", "case a.Before != at.Hash:", "case false:"},
	}},
	{"timer-early", "a timer comes a moment before its time", "ends", "", []change{
		{"queue/record/timer.go", "Number: TimerDue(t.Due),", "Number: TimerDue(t.Due) - 1,"},
	}},
	{"early-ack", "a message is acknowledged before it is on disk", "5", "", []change{
		{"link/core/core.go", "Receipt{Position: c.in[l].accepted,", "Receipt{Position: c.in[l].received,"},
	}},
	// The committer refuses a repeat as well, which costs time only, and the room that is made for
	// what is new would be less than none: all three go.
	{"no-dedupe", "a repeat on a link is taken once more", "5 ends", "", []change{
		{"link/core/lane.go", "make([]record.Item, 0, end-r.received.Number)", "make([]record.Item, 0, len(d.Payloads))"},
		{"queue/commit/group.go", "case a.Count > to.Number || to.Number-a.Count != at.Number:", "case a.Count > to.Number:"},
		{"queue/commit/group.go", "case a.Before != at.Hash:", "case false:"},
		{"link/core/lane.go", "case end <= r.received.Number: // seen", "case end == 0: // seen"},
		{"link/core/lane.go", "		if n > r.received.Number {\n			items", "		if n > 0 {\n			items"},
	}},
	{"unread", "what a peer cannot read yet gets a number of the link all the same", "5", "", []change{
		{"queue/commit/apart.go", "	if !reads.Has(message.NeedsOf(item.Message)) {\n		return true", "	if !reads.Has(message.NeedsOf(item.Message)) {\n		return false"},
	}},
	{"two-transactions", "what ends an activity and what it sends are two transactions", "3", "", []change{
		{"node/execute/turn.go", "	t.of.Queue.Submit(tx)\n", "	rest := &record.Tx{Put: tx.Put}\n	tx.Put = nil\n	t.of.Queue.Submit(tx)\n	t.of.Queue.Submit(rest)\n"},
	}},
	{"dead-path", "an activity on a dead path sends nothing on", "3 7 ends", "", []change{
		{"navigator/decide.go", "		if t.data >= 0 {\n			m.Data = message.DataAbsent\n		}\n		out = append(out, m)\n	}\n	return out\n", "		if t.data >= 0 {\n			m.Data = message.DataAbsent\n		}\n		out = append(out, m)\n	}\n	return out[:0]\n"},
	}},
	{"key-iteration", "the key of an execution lacks its iteration", "9", "", []change{
		{"message/item.go", "strconv.Itoa(x.Iteration), strconv.Itoa(x.Run),", "strconv.Itoa(0*x.Iteration), strconv.Itoa(x.Run),"},
	}},
	{"commit-error", "a commit that failed is taken for one that did not", "8", "", []change{
		{"queue/commit/core.go", "	if w.Err != nil {\n		c.fail(w.Err)\n		return\n	}\n	c.Version = w.Last\n", "	c.Version = max(w.Last, w.Number)\n"},
	}},
	// The process thread reads in its own task and answers before anything else happens, so nothing
	// can come while a browse is read: the machine's own defence shows only where the answer comes later.
	{"browse-misses", "a browse does not see what came while it was read", "ends 3 7", "", []change{
		{"node/execute/turn.go", "		t.step(t.readOn(*b))\n", "		t.Tell(t.readOn(*b))\n"},
		{"node/thread/browse.go", "case e == nil && heard[found.Entry]:", "case e == nil && heard[found.Entry] && b == nil:"},
	}},
	{"no-eviction", "what waits stays in memory, however much it is", "10", "", []change{
		{"instancetable/table.go", "		t.Evict(t.unused.oldest)\n", "		break\n"},
	}},
	{"hanging-answer", "a list of instances is answered when nobody waits for it any more", "6", "", []change{
		{"node/answer/list.go", "	q, err := questionOf(r)\n", "	_, _ = a.Scheduler.Wait(ctx, a.Scheduler.Gate())\n	q, err := questionOf(r)\n"},
	}},
	{"no-hang-up", "who calls without being a peer is told so, and is not hung up on", "11", "", []change{
		{"link/acceptor.go", "	_ = conn.Close()\n	a.refused(hello.Hello.Node, s.Reason)\n", "	a.refused(hello.Hello.Node, s.Reason)\n"},
	}},
	{"ends-forgotten", "what ended since the store was opened is taken for new", "5 2 3 4 7 9 ends", "", []change{
		{"queue/work.go", "	m.Ends(tx.Audit)\n", "	m.Ends(tx.Audit[:0])\n"},
	}},
	{"cache-share", "a process that takes on more while the cache is full keeps what it has", "10", "", []change{
		{"instancetable/table.go", " || t.limits.Shared.full(t.unused.len, t.bytes)", ""},
	}},
	{"any-reply", "a reply of a peer answers whatever question waits for one", "7", "", []change{
		{"link/query.go", "	if asked, ok := q.pending[id]; ok {\n", "	for other := range q.pending {\n		id = min(id, other)\n	}\n	if asked, ok := q.pending[id]; ok {\n"},
	}},
	{"list-filter", "a list has what ended, of whatever process", "7", "", []change{
		{"node/answer/listing.go", "case ended != nil && !q.ended(), !q.of(started.Process), !q.begunBy", "case ended != nil && !q.ended(), !q.begunBy"},
	}},
	{"lanes-swapped", "how far one lane of a link is, is told of the other", "7", "", []change{
		{"node/answer/peers.go", "api.Lane{Lane: i, Next", "api.Lane{Lane: len(s.Lanes) - 1 - i, Next"},
	}},
	{"history-short", "a history lacks how activities have ended", "7", "", []change{
		{"node/report/events.go", "		take(v.Ends[i], \"\")\n", "		_ = v.Ends[i]\n"},
	}},
	{"lost-dropped", "where a store was lost, what a site that has not lost its own has only one message of is let go of", "3", "", []change{
		{"node/thread/arrive.go", "	case end != nil: // N7\n", "	case end == nil && m.losses.Any && !m.losses.Anew && d.Messages[0].Kind == message.KindConnector:\n		m.drop(key, d.Messages, nil)\n		return\n	case end != nil: // N7\n"},
	}},
	{"refused-upload", "an upload that is refused stores the tables all the same", "11 12", "", []change{
		{"node/tables/upload.go", "	if r.PlanOnly || u.refused() {\n", "	if r.PlanOnly {\n"},
	}},
	{"refused-terminate", "what has ended is marked once more as terminated, and that is refused", "12", "", []change{
		{"node/command/terminate.go", "		return alreadyEnded(id, s.State)\n", "		if p, known := c.known(g); known {\n			_ = c.mark(ctx, p, id, c.By(ctx))\n		}\n		return alreadyEnded(id, s.State)\n"},
	}},
	// What came back of iterations that are over is let go of in memory as well: both defences go.
	{"stale-return", "what came back of another iteration of a block counts for the one that is under way", "4 7 ends", "", []change{
		{"navigator/block.go", "return r.scope == within && r.source == source", `return r.scope != "" && r.source == source`},
		{"navigator/block.go", "if s.inner == nil || s.Snapshot == nil || len(s.inner.returns) == 0 {", "if s.inner == nil || s.Snapshot == nil || len(s.inner.returns) >= 0 {"},
	}},
	{"scope-prefix", "a scope that another one begins with counts as that", "4 7 ends", "", []change{
		{"navigator/block.go", "return r.scope == within && r.source == source", "return len(r.scope) <= len(within) && r.scope == within[:len(r.scope)] && r.source == source"},
		{"navigator/block.go", "if s.inner == nil || s.Snapshot == nil || len(s.inner.returns) == 0 {", "if s.inner == nil || s.Snapshot == nil || len(s.inner.returns) >= 0 {"},
	}},
	{"return-stays", "the next iteration of a block begins, and what came back of the one before stays", "3", "", []change{
		{"navigator/block.go", "k.Kind == message.KindReturn && !s.over(k.Scope, &at) && (!at.Begun || k.Scope != a.within(s, &at))", "k.Kind == message.KindReturn && at.Iteration > 0"},
	}},
	{"begins-apart", "what begins an iteration of a block, and that it has begun, are two transactions", "3", "", []change{
		{"node/execute/turn.go", "	t.of.Queue.Submit(tx)\n", "	rest, done := &record.Tx{}, tx.Done\n	for i := 0; i < len(tx.Put); i++ {\n		if m := tx.Put[i]; m.Kind == message.KindSnapshot && len(tx.Consume) > 1 {\n			rest.Put, tx.Put = append(rest.Put, m), append(tx.Put[:i:i], tx.Put[i+1:]...)\n			i--\n		}\n	}\n	tx.Done = func(err error) {\n		if done(err); err == nil && len(rest.Put) > 0 {\n			t.programs.Go(func() { t.of.Queue.Submit(rest) })\n		}\n	}\n	t.of.Queue.Submit(tx)\n"},
	}},
	{"sink-by-name", "the sink of a block is taken for that of the process", "3 5 7 ends", "", []change{
		{"navigator/process.go", "		return nil\n	}\n	return p.rows.Get(row)\n", "		return nil\n	}\n	if row.Name == processtable.Sink {\n		row.Inside = \"\"\n	}\n	return p.rows.Get(row)\n"},
	}},
	{"no-feedback", "the next iteration of a block has the input of the first", "7 ends", "", []change{
		{"navigator/snapshot.go", "	if err := assign(input, a.Feedback, j.next, (*container.Struct).Assign); err != nil {\n", "	of := a.Feedback\n	if a.Kind == processtable.KindBlock {\n		of = nil\n	}\n	if err := assign(input, of, j.next, (*container.Struct).Assign); err != nil {\n"},
	}},
	{"appended-first", "what is appended to a list comes first in it", "7 ends", "", []change{
		{"container/path.go", "append(slices.Clip(list), CloneValue(v))", "append([]Value{CloneValue(v)}, list...)"},
	}},
	{"worked-zero", "an expression of a mapping that cannot be evaluated gives the zero of its type", "7 ends", "", []change{
		{"navigator/mapping.go", "				return nil, fmt.Errorf(\"mapping of %s onto %s of %s: %w\", m.Source, m.Target, to, err)\n", "				v = container.Zero(m.Type)\n"},
	}},
	{"skipped-ran", "what leads out of an activity on a dead path says that it has run", "7 ends", "", []change{
		{"navigator/ends.go", "		return message.FalseSkipped\n", "		return message.False\n"},
	}},
	{"worked-defaults", "an expression of a mapping is evaluated over the defaults of the output", "7 ends", "", []change{
		{"navigator/mapping.go", "Eval(spent, r.Output, values(r))", "Eval(spent, container.New(r.Output.Type), values(r))"},
	}},
	{"refused-start", "a start is refused for its input once it is on disk", "12", "", []change{
		{"node/backend.go", "	input, err := decodeInput(t.Process().Table().Input, r.Input)\n	if err != nil {\n", "	input, err := decodeInput(t.Process().Table().Input, r.Input)\n	if err != nil {\n		_, _ = t.Start(ctx, behaviour.Start{Instance: r.Instance, Key: r.Key, Input: container.New(t.Process().Table().Input), Now: n.sched.Now()})\n"},
	}},
	// What ends an activity otherwise than by itself (N14, N22, N23, N25).
	{"old-due", "a timer of another time counts for a deadline", "races", racing, []change{
		{"navigator/moment.go", "&& !at.TimedOut && s.Came(behaviour.Timer{Name: timerDeadline, Due: at.Deadline})", "&& !at.TimedOut && func() bool {\n		for _, k := range s.Keys {\n			if k.Kind == message.KindDue {\n				return true\n			}\n		}\n		return false\n	}()"},
	}},
	{"timeout-undue", "a deadline ends an activity before it has come", "races", racing, []change{
		{"navigator/moment.go", "&& !at.TimedOut && s.Came(behaviour.Timer{Name: timerDeadline, Due: at.Deadline})", "&& !at.TimedOut"},
	}},
	{"deadline-anew", "a deadline is counted anew in each iteration", "races", racing, []change{
		{"navigator/snapshot.go", "Run: at.Run, Input: next, Deadline: at.Deadline, Counted", "Run: at.Run, Input: next, Counted"},
	}},
	{"first-false", "a connector that is FALSE counts among the first", "races 7 ends", racing, []change{
		{"navigator/first.go", "case !s.control[i].IsTrue():", "case s.control[i] == message.Unresolved:"},
	}},
	{"first-anew", "which connectors counted is forgotten with the next iteration", "races 3", racing, []change{
		{"navigator/snapshot.go", "Counted: at.Counted, Came: at.Came, ", ""},
	}},
	{"first-overtaken", "what is about to be delivered does not come before a message of a cascade", "3", racing, []change{
		{"node/thread/arrive.go", "return m.beginsFirst(key) || slices", "return slices"},
	}},
	{"first-late-aside", "a connector that came too late is set aside as refused", "5 ends", racing, []change{
		{"node/thread/first.go", "return m.beginsFirst(key) && msg.Kind", "return m.beginsFirst(key) && msg.Clock == 0 && msg.Kind"},
	}},
	{"returned-late", "a block that has returned times out afterwards", "races", racing, []change{
		{"navigator/ending.go", "return s.expired() && !a.limits() && (s.InError() || !a.hasReturned(s))", "return s.expired() && !a.limits()"},
	}},
	{"next-iteration", "what cancels an activity cancels the one in the next iteration", "races 3 5 7 ends", racing, []change{
		{"navigator/ending.go", "		m.Kind = message.KindCancel\n		m.Body", "		m.Kind = message.KindCancel\n		if frames, err := m.Scope.Frames(); err == nil && len(frames) > 0 {\n			frames[len(frames)-1].Iteration++\n			m.Scope = m.Scope.Leave().Enter(frames[len(frames)-1])\n		}\n		m.Body"},
	}},
	{"cancelled-true", "what is cancelled sends TRUE", "races 7 ends", racing, []change{
		{"navigator/ending.go", "			e.Put = a.dead(s)\n", "			e.Put = a.dead(s)\n			for i := range e.Put {\n				if e.Put[i].Control == message.False {\n					e.Put[i].Control = message.True\n				}\n			}\n"},
	}},
	{"cancelled-early", "what is cancelled ends before all that leads into it is resolved", "3 5 7 races ends", racing, []change{
		{"navigator/ending.go", "return s.cancel != nil && (s.cancel.around || s.Waiting(a) == 0)", "return s.cancel != nil && (s.cancel.around || s.Waiting(a) >= 0)"},
	}},
	{"cancelled-twice", "what is cancelled from around waits for what leads into it, where another one cancels it as well", "ends", racing, []change{
		{"navigator/ending.go", "next.around = next.around || s.cancel.around", "next.around = next.around && s.cancel.around"},
	}},
	{"cancel-leaves", "of what is inside of a block that ends early one is not cancelled", "races 7 ends", racing, []change{
		{"navigator/ending.go", "	e.Put = append(cancels, e.Put...)\n", "	e.Put = append(cancels[:max(0, len(cancels)-1)], e.Put...)\n"},
	}},
	{"catch-goes-on", "a block that has caught an error does not cancel the rest", "7 races ends", racing, []change{
		{"navigator/ending.go", "	return a.without(s, fmt.Sprintf(\"%s goes on after an error: %s\", a.Name, reason), now, func() behaviour.Effects {", "	return func(then func() behaviour.Effects) behaviour.Effects { return then() }(func() behaviour.Effects {"},
	}},
	{"output-stays", "after a deadline, or an error that is caught, defaults take the place of values", "3 7 ends", racing, []change{
		{"navigator/mapping.go", "	return message.DataWords\n", "	return message.DataPresent\n"},
	}},
	{"all-matches", "where the first match is taken the others are as well", "7 ends", racing, []change{
		{"navigator/decide.go", "holds, cond := !taken || !a.FirstMatch, a.outgoing[i]", "holds, cond := !taken || a.FirstMatch || true, a.outgoing[i]"},
	}},
	{"overtaken", "a cascade decides what has lost a race to what is about to be delivered", "3 races 7", racing, []change{
		{"node/thread/arrive.go", "!comes || msg.Kind == message.KindCancel {\n\t\treturn comes", "!comes || msg.Kind != 0 {\n\t\treturn false"},
	}},
	// What activities begin instances of (N19).
	{"one-child", "two activities of an instance begin one and the same instance", "3 5 7 ends", "", []change{
		{"message/child.go", "string(p.Scope), string(p.Activity), of.String()}", "of.String()}"},
	}},
	{"orphan", "who ends an activity early leaves the instance that it has begun", "7 12 ends", "", []change{
		{"navigator/child.go", "a.Independent || !at.Begun || s.backFrom(&at) != nil", "a.Kind == processtable.KindProcess"},
	}},
	{"returns-apart", "what an instance has come to returns to the wrong activity of its parent", "3 5 7 ends", "", []change{
		{"message/child.go", "Instance: p.Instance, Scope: p.Scope, Activity: p.Activity,\n			SourceScope", "Instance: p.Instance, Scope: \"\", Activity: p.Activity,\n			SourceScope"},
	}},
}
