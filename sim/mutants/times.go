package main

// Kinds of processes that have them.
const (
	timed     = "timed"
	scheduled = "scheduled"
)

// ofTimes are those of notices, of the deadlines of processes, and of histories that keep few iterations (N16, N23).
var ofTimes = []mutant{
	{"notice-early", "a program runs beside the work before its time", "races", timed, []change{
		{"navigator/notice.go", "	case s.at.Due.IsZero() || !s.Came(behaviour.Timer{Due: s.at.Due}):\n", "	case s.at.Due.IsZero():\n"},
	}},
	{"notice-again", "a program that runs beside the work once runs again and again", "races ends", timed, []change{
		{"navigator/notice.go", "	switch {\n	case at.Every == 0 && !isShown(&at):\n		return behaviour.Effects{Ends: true, Outcome: o}\n	case at.Every == 0:\n		at.Due = time.Time{}\n		return n.keep(s, at, 0, o)\n	}\n", ""},
		{"navigator/notice.go", "	if at.Due = at.Due.Add(at.Every); !at.Due.After(now) {\n		at.Due = now.Add(at.Every)\n", "	if at.Due = at.Due.Add(max(at.Every, time.Minute)); !at.Due.After(now) {\n		at.Due = now.Add(max(at.Every, time.Minute))\n"},
	}},
	{"notice-stays", "a notice goes on when its activity has ended", "races ends", timed, []change{
		{"navigator/notice.go", "	case message.KindCancel:\n		s.over, s.Cancelled = true, true\n", "	case message.KindCancel:\n"},
	}},
	{"notice-anew", "each iteration begins the notices of its activity anew", "3 races ends", timed, []change{
		{"navigator/snapshot.go", "Came: at.Came, Notices: at.Notices, Edition: at.Edition}", "Came: at.Came, Edition: at.Edition}"},
	}},
	{"limit-early", "the deadline of a process ends its instances before it has come", "races ends 7", timed, []change{
		{"navigator/limit.go", "	case !s.expired():\n		return behaviour.Effects{}\n", ""},
	}},
	{"limit-silent", "the deadline of a process ends nothing", "ends", timed, []change{
		{"navigator/limit.go", "	e.Put = append(e.Put, message.Message{\n", "	_ = append(e.Put, message.Message{\n"},
	}},
	{"due-early", "an instance is started before it is due", "schedules 12", scheduled, []change{
		{"node/schedules/schedules.go", "	due, passed := p.due(state.Until, now)\n", "	due, passed := p.due(state.Until, now.Add(2*time.Minute))\n"},
	}},
	{"due-missed", "of times that were missed only the last is made up for, whatever the schedule says", "schedules", scheduled, []change{
		{"node/schedules/due.go", "len(times) == 0 || m == processtable.MissedAll", "len(times) == 0"},
	}},
	{"due-again", "an instance of a schedule has another identifier each time it is tried", "5 12 schedules", scheduled, []change{
		{"node/schedules/due.go", "d.at.UTC().Format(time.RFC3339))\n	return", "d.at.UTC().Format(time.RFC3339Nano)+\" again\")\n	return"},
	}},
	{"thinned-more", "the history loses iterations that it is to keep", "ends 7", timed, []change{
		{"node/retention/iterations.go", "below := l.Iteration - p.Table().History + 1", "below := l.Iteration + 1"},
	}},
}
