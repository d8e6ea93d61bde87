package main

var mutants = []mutant{
	{"stale-answer", "the answer to an accept of before a reload counts", []change{
		{"link/decision.go", "if c.in[l].under != nil || c.out[l].reading != 0 {", "if c.out[l].reading != 0 {"},
		{"link/lane.go", "if u == nil || u.token != e.Token {", "if u == nil {"},
	}},
	{"reload-in-accept", "a link begins anew while an accept is under way", []change{
		{"link/decision.go", "if c.in[l].under != nil || c.out[l].reading != 0 {", "if c.out[l].reading != 0 {"},
	}},
	{"timer-early", "a timer comes a moment before its time", []change{
		{"node/thread/arrive.go", "		e.Known.Came = d.Due\n", "		e.Known.Came = d.Due.Add(-1)\n"},
		{"node/thread/arrive.go", "\n	e.Known.Came = d.Due\n", "\n	e.Known.Came = d.Due.Add(-1)\n"},
	}},
	{"early-ack", "a message is acknowledged before it is on disk", []change{
		{"link/core.go", "Receipt{Position: c.in[l].accepted,", "Receipt{Position: c.in[l].received,"},
	}},
	{"no-dedupe", "a repeat on a link is taken once more", []change{
		{"link/lane.go", "case end <= r.received.Number: // seen", "case end == 0: // seen"},
		{"link/lane.go", "		if n > r.received.Number {\n			items", "		if n > 0 {\n			items"},
	}},
	{"two-transactions", "what ends an activity and what it sends are two transactions", []change{
		{"node/processthread.go", "	t.node.queue.Submit(tx)\n", "	rest := &queue.Tx{Put: tx.Put}\n	tx.Put = nil\n	t.node.queue.Submit(tx)\n	t.node.queue.Submit(rest)\n"},
	}},
	{"dead-path", "an activity on a dead path sends nothing on", []change{
		{"navigator/decide.go", "		if t.data >= 0 {\n			m.Data = message.DataAbsent\n		}\n		out = append(out, m)\n	}\n	return out\n", "		if t.data >= 0 {\n			m.Data = message.DataAbsent\n		}\n		out = append(out, m)\n	}\n	return out[:0]\n"},
	}},
	{"key-iteration", "the key of an execution lacks its iteration", []change{
		{"node/activitythread.go", "strconv.Itoa(iteration), strconv.Itoa(run),", "strconv.Itoa(0*iteration), strconv.Itoa(run),"},
	}},
	{"commit-error", "a commit that failed is taken for one that did not", []change{
		{"queue/commit/core.go", "	if w.Err != nil {\n		c.fail(w.Err)\n		return\n	}\n	c.Version = w.Last\n", "	c.Version = max(w.Last, w.Number)\n"},
	}},
	{"browse-misses", "a browse does not see what came while it was read", []change{
		{"node/thread/browse.go", "case e == nil && heard[found.Entry]:", "case e == nil && heard[found.Entry] && b == nil:"},
	}},
}
